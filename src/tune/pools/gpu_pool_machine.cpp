#include <algorithm>

#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/policies/gpu/pool_tiles.hpp"
#include "src/choice/policies/gpu/tuned_tiles.hpp"
#include "src/tune/pools/pool_machine.hpp"
#include "src/tune/pools/tile_axes.hpp"
#include "src/tune/pools/tile_features.hpp"

namespace dyn::tune {
namespace {

using choice::GpuKind;
using choice::GpuMachine;
using choice::GpuTile;
using choice::numbers_of;
using choice::tile_of;

std::vector<GpuTile> tiles_of_numbers(const std::vector<choice::PoolKernel>& kernels) {
  std::vector<GpuTile> tiles;
  for (const choice::PoolKernel& kernel : kernels) tiles.push_back(tile_of(kernel));
  return tiles;
}

std::vector<choice::PoolKernel> numbers_of_tiles(const std::vector<GpuTile>& tiles) {
  std::vector<choice::PoolKernel> kernels;
  for (const GpuTile& tile : tiles) kernels.push_back(numbers_of(tile));
  return kernels;
}

class DescribedGpu final : public GpuPoolMachine {
 public:
  DescribedGpu(const GpuMachine& machine, const std::vector<GpuKind>& kinds)
      : machine_(machine), kinds_(kinds) {}

  int units() const override { return machine_.multiprocessors; }
  choice::MicroKernel block(const Kernel& kernel) const override {
    const GpuTile tile = tile_of(kernel);
    return {tile.block_m, tile.block_n, tile.block_k};
  }
  std::int64_t blocks_per_wave(const Kernel& kernel) const override {
    const GpuTile tile = tile_of(kernel);
    return std::int64_t{machine_.multiprocessors} *
           choice::program_occupancy(machine_, {&tile, 1}).blocks;
  }
  double seconds_per_wave() const override { return 0; }
  double most_multiply_adds_per_second() const override {
    double fastest = 0;
    for (const GpuKind& kind : kinds_) {
      const bool tensor = kind.engine == choice::Engine::TensorCores;
      fastest =
          std::max(fastest, tensor ? choice::mma_fma(machine_, kind.operands) : machine_.f32_fma);
    }
    return fastest * machine_.clock_hz * machine_.multiprocessors;
  }

  Space space(const std::vector<Kernel>& seeds) const override {
    return tile_space(machine_, kinds_, tiles_of_numbers(seeds));
  }
  Kernel kernel_at(const Values& values) const override { return numbers_of(tile_at(values)); }
  std::vector<Kernel> aligned() const override {
    return numbers_of_tiles(choice::tscompiler_tiles(machine_, kinds_));
  }

  std::optional<Kernel> random_kernel(std::mt19937_64& random) const override {
    const auto tile = choice::random_dietcode_tile(machine_, kinds_.front(), random);
    return tile ? std::optional(numbers_of(*tile)) : std::nullopt;
  }
  std::vector<float> features(const Kernel& kernel) const override {
    return tile_features(machine_, tile_of(kernel));
  }
  std::vector<Kernel> evolved(const std::vector<choice::ProductShape>& shapes, const Speed& speed,
                              const choice::DietCodeSearch& search,
                              const std::vector<Kernel>& first) const override {
    const choice::GpuTileSpeed of_tile = [&](const GpuTile& tile) {
      return speed(numbers_of(tile));
    };
    return numbers_of_tiles(choice::evolved_tiles(machine_, kinds_.front(), shapes, of_tile, search,
                                                  tiles_of_numbers(first))
                                .tiles);
  }

  choice::PoolSpeed predicted(const choice::PoolPlan& plan) const override {
    const std::vector<GpuTile> tiles{tile_of(plan.block)};
    const choice::GpuMicroKernels kernels(machine_, tiles, [](const GpuTile& tile) {
      return choice::timed_form(tile, tile.block_k);
    });
    choice::PoolSpeed speed{plan};
    for (const std::int64_t depth : plan.depths) {
      speed.alone.push_back(kernels.task_seconds(0, depth));
      if (plan.together) speed.together.push_back(kernels.wave_seconds(0, depth));
    }
    return speed;
  }

 private:
  const GpuMachine machine_;
  const std::vector<GpuKind> kinds_;
};

}  // namespace

std::shared_ptr<const GpuPoolMachine> pool_machine(const GpuMachine& machine,
                                                   const std::vector<GpuKind>& kinds) {
  return std::make_shared<const DescribedGpu>(machine, kinds);
}

}  // namespace dyn::tune
