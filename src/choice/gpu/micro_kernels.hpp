#pragma once
// The tiles of a GPU as the papers' policies see them.

#include <functional>
#include <tuple>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/choice/gpu/tile_traffic.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// Equal where tiles are alike below the block.
using BelowBlock = std::tuple<Engine, DType, int, int, int, int>;
BelowBlock below_block(const GpuTile& tile);

/// True where one launch can run two tiles, by their indices.
using TilesTogether = std::function<bool(std::size_t, std::size_t)>;

/// One micro-kernel for each tile that fits the machine, in their order: a block of the grid, in
/// steps of block_k. Seconds are those of gpu_wave(), of whole blocks: predicted, or by stages that
/// were timed. Units are multiprocessors.
class GpuMicroKernels final : public MicroKernels {
 public:
  /// `form`: the surroundings of the contraction as each tile meets them; its sizes do not matter.
  /// `together` is asked for all pairs of tiles, here; without it no two are.
  GpuMicroKernels(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                  const GpuShapeFor& form, const TilesTogether& together = {});

  std::size_t size() const override { return kernels_.size(); }
  MicroKernel operator[](std::size_t kernel) const override { return kernels_[kernel].block; }
  bool together(std::size_t a, std::size_t b) const override;
  int units() const override { return multiprocessors_; }
  std::int64_t blocks_per_wave(std::size_t kernel) const override {
    return kernels_[kernel].blocks_per_wave;
  }
  /// One block on a multiprocessor.
  double task_seconds(std::size_t kernel, std::int64_t k) const override {
    return at_depth(kernel, kernels_[kernel].task, k);
  }
  /// As many blocks on each multiprocessor as fit.
  double wave_seconds(std::size_t kernel, std::int64_t k) const override {
    return at_depth(kernel, kernels_[kernel].wave, k);
  }
  /// Multiply-adds at the speed of the hardware, that of the fastest engine among the tiles, over
  /// K_mem (FTuner, equation 7): the larger one of what a block reads and writes at its
  /// multiprocessor's part of the memory's bandwidth, and what passes through shared memory.
  double compute_to_memory(std::size_t kernel, std::int64_t k) const override;
  /// The layers of a full wave without dyn's corrections: no barriers and latencies before the
  /// first load, no cheaper last wave, no bounds by the whole GPU's bandwidth, no launch.
  double vortex_block_seconds(std::size_t kernel, std::int64_t k) const override;
  double vortex_least_rate(std::size_t kernel) const override;
  /// Tiles with the same warps' part of the outputs and the same steps are alike below the block.
  std::size_t lowest_layer(std::size_t kernel) const override { return kernels_[kernel].warp; }

  /// Index of a kernel's tile among those that it was made from.
  std::size_t tile_of(std::size_t kernel) const { return kernels_[kernel].tile; }

 private:
  /// Linear in the steps of the reduction from the first one on.
  struct Pipeline {
    double no_step = 0, first_step = 0, next_step = 0;
  };
  struct Kernel {
    std::size_t tile;
    std::size_t warp;  ///< the first tile that is alike below the block
    MicroKernel block;
    std::int64_t blocks_per_wave;
    Pipeline task, wave, vortex;
    TileTraffic traffic;
  };
  Kernel kernel_of(const GpuMachine& machine, const GpuTile& tile, std::size_t index, int resident,
                   const GpuContraction& form) const;
  double at_depth(std::size_t kernel, const Pipeline& pipeline, std::int64_t k) const;

  int multiprocessors_;
  double fastest_ = 0;  ///< multiply-adds of one multiprocessor, for each cycle
  std::vector<Kernel> kernels_;
  std::vector<bool> together_;  ///< of each two kernels; empty: no two are
};

}  // namespace dyn::choice
