#include "src/choice/policies/gpu/gpu_paper.hpp"

#include <algorithm>
#include <utility>

#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/gpu/wave.hpp"
#include "src/choice/policies/gpu/ftuner_tiles.hpp"
#include "src/choice/policies/gpu/mikpoly_tiles.hpp"
#include "src/choice/policies/shared/forwarded_kernels.hpp"

namespace dyn::choice {
namespace {

using rkernel::Policy;

/// The part of a multiprocessor that a block of a tile takes.
struct BlockNeeds {
  int stages, threads, registers, shared_bytes;
};
BlockNeeds needs_of(const GpuTile& tile) {
  return {tile.stages, tile.threads(), tile.registers(), tile.shared_bytes()};
}

bool fits_with(const GpuMachine& machine, const BlockNeeds& a, const BlockNeeds& b) {
  return a.stages + b.stages <= most_launch_stages &&
         occupancy(machine, std::max(a.threads, b.threads), std::max(a.registers, b.registers),
                   std::max(a.shared_bytes, b.shared_bytes))
                 .blocks > 0;
}

/// GpuMicroKernels whose tasks are as MikPoly has learned them.
class LearnedKernels final : public ForwardedKernels {
 public:
  LearnedKernels(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                 const GpuShapeFor& form)
      : kernels_(machine, tiles, form,
                 [&](std::size_t a, std::size_t b) {
                   return run_together(machine, tiles[a], tiles[b]);
                 }),
        learned_(learned_tasks(kernels_, MikPolyParameters{}.n_pred)) {}

  double task_seconds(std::size_t kernel, std::int64_t k) const override {
    return k > 0 ? learned_[kernel](static_cast<double>(k)) : kernels_.task_seconds(kernel, k);
  }

 private:
  const MicroKernels& kernels() const override { return kernels_; }

  const GpuMicroKernels kernels_;
  const std::vector<PiecewiseLinear> learned_;
};

/// The answers that FTuner wants of its uKernels, which are made anew for each workload: no wave is
/// computed before it is asked for.
class UKernels final : public MicroKernels {
 public:
  UKernels(const GpuMachine& machine, const std::vector<GpuTile>& tiles, const GpuShapeFor& form)
      : machine_(machine), tiles_(tiles), form_(form) {
    double fastest = 0;
    for (const GpuTile& tile : tiles_)
      fastest = std::max(fastest, multiply_adds_per_cycle(machine_, tile));
    for (const GpuTile& tile : tiles_) {
      traffic_.push_back(traffic_of(machine_, tile, form_(tile), fastest));
      needs_.push_back(needs_of(tile));
    }
  }

  std::size_t size() const override { return tiles_.size(); }
  MicroKernel operator[](std::size_t kernel) const override {
    const GpuTile& tile = tiles_[kernel];
    return {tile.block_m, tile.block_n, tile.block_k};
  }
  bool together(std::size_t a, std::size_t b) const override {
    return fits_with(machine_, needs_[a], needs_[b]);
  }
  int units() const override { return machine_.multiprocessors; }
  std::int64_t blocks_per_wave(std::size_t kernel) const override {
    return std::int64_t{machine_.multiprocessors} * resident(kernel);
  }
  double task_seconds(std::size_t kernel, std::int64_t k) const override {
    return wave(kernel, k, 1).seconds();
  }
  double wave_seconds(std::size_t kernel, std::int64_t k) const override {
    return wave(kernel, k, resident(kernel)).seconds();
  }
  double compute_to_memory(std::size_t kernel, std::int64_t k) const override {
    return choice::compute_to_memory(traffic_[kernel],
                                     ceil_div(k, std::int64_t{tiles_[kernel].block_k}));
  }
  double vortex_block_seconds(std::size_t kernel, std::int64_t k) const override {
    return wave_seconds(kernel, k);
  }

 private:
  int resident(std::size_t kernel) const {
    return program_occupancy(machine_, {&tiles_[kernel], 1}).blocks;
  }
  GpuWave wave(std::size_t kernel, std::int64_t k, int resident) const {
    GpuContraction block = form_(tiles_[kernel]);
    block.batch = 1;
    block.m = tiles_[kernel].block_m;
    block.n = tiles_[kernel].block_n;
    block.k = k;
    return gpu_wave(machine_, block, tiles_[kernel], resident);
  }

  const GpuMachine machine_;
  const std::vector<GpuTile> tiles_;
  const GpuShapeFor form_;
  std::vector<TileTraffic> traffic_;
  std::vector<BlockNeeds> needs_;
};

std::unique_ptr<const MicroKernels> kernels_for(Policy policy, const GpuMachine& machine,
                                                const std::vector<GpuTile>& tiles,
                                                const GpuShapeFor& form) {
  switch (policy) {
    case Policy::FTuner: return std::make_unique<const UKernels>(machine, tiles, form);
    case Policy::MikPoly:
    case Policy::MikPolyWave:
    case Policy::MikPolyPipe: return std::make_unique<const LearnedKernels>(machine, tiles, form);
    case Policy::DietCodePartition:
      return std::make_unique<const GpuMicroKernels>(
          machine, tiles, form,
          [&](std::size_t a, std::size_t b) { return run_together(machine, tiles[a], tiles[b]); });
    default: return std::make_unique<const GpuMicroKernels>(machine, tiles, form);
  }
}

}  // namespace

bool run_together(const GpuMachine& machine, const GpuTile& a, const GpuTile& b) {
  return fits_with(machine, needs_of(a), needs_of(b));
}

GpuPaper::GpuPaper(Policy policy, const GpuMachine& machine, std::vector<GpuTile> tiles,
                   const GpuShapeFor& form, std::vector<ProductShape> sampled)
    : tiles_(std::move(tiles)),
      kernels_(kernels_for(policy, machine, tiles_, form)),
      policy_(
          make_paper_policy(policy, *kernels_, {Regions::Two, column_unit, std::move(sampled)})) {}

GpuPaper::~GpuPaper() = default;

}  // namespace dyn::choice
