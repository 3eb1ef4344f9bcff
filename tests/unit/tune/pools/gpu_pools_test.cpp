// Searches for the tiles of papers' policies on a described GPU, by prediction.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/policies/gpu/pool_tiles.hpp"
#include "src/choice/policies/gpu/tuned_tiles.hpp"
#include "src/tune/pools/dietcode_tuner.hpp"
#include "src/tune/pools/macro_kernel_search.hpp"
#include "src/tune/pools/tile_axes.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using namespace dyn::tune;
using choice::GpuKind;
using choice::GpuMachine;
using choice::GpuTile;
using choice::PoolKernel;
using choice::PoolSpeed;
using choice::ProductShape;

namespace {

const GpuKind cuda{choice::Engine::CudaCores, DType::f32},
    bfloats{choice::Engine::TensorCores, DType::bf16};

struct OnGpu {
  OnGpu(const char* name, std::vector<GpuKind> of, std::vector<ProductShape> shapes,
        std::uint64_t seed)
      : machine(ptx::described_gpu(name)),
        kinds(std::move(of)),
        figures(pool_machine(machine, kinds)),
        problem{figures, std::move(shapes), seed} {}

  template <class Search>
  std::vector<PoolSpeed> predicted_by(const Search& search, std::size_t budget,
                                      std::vector<PoolSpeed> known = {}) const {
    std::size_t left = budget - known.size();
    KernelLedger ledger(std::move(known),
                        [&](const choice::PoolPlan& plan) -> std::optional<PoolSpeed> {
                          if (left == 0) return std::nullopt;
                          --left;
                          return figures->predicted(plan);
                        });
    search(problem, ledger);
    return ledger.measured();
  }

  GpuMachine machine;
  std::vector<GpuKind> kinds;
  std::shared_ptr<const GpuPoolMachine> figures;
  PoolProblem problem;
};

std::vector<ProductShape> shapes_of_layers(std::mt19937_64& random) {
  std::vector<ProductShape> shapes;
  for (int i = 0; i < 8; ++i)
    shapes.push_back({1, 1 + static_cast<std::int64_t>(random() % 2000),
                      std::int64_t{256} << (random() % 5), std::int64_t{256} << (random() % 4)});
  return shapes;
}

void search_dietcode_tiles(const PoolProblem& problem, KernelLedger& ledger) {
  search_dietcode_kernels(problem, ledger);
}

std::vector<PoolKernel> tiles_of(const std::vector<PoolSpeed>& speeds) {
  std::vector<PoolKernel> kernels;
  for (const PoolSpeed& speed : speeds) kernels.push_back(speed.plan.block);
  return kernels;
}

}  // namespace

TEST_CASE("gpu pools: a tile is the numbers that it was made of") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  int count = 0;
  for (const GpuKind& kind : {cuda, bfloats}) {
    for (const GpuTile& tile : choice::aligned_gpu_tiles(machine, {kind})) {
      CHECK(choice::tile_of(choice::numbers_of(tile)) == tile);
      CHECK(choice::wrong_with(machine, {cuda, bfloats}, tile).empty());
      ++count;
    }
  }
  CHECK(count > 100);
  CHECK_THROWS_WITH(choice::tile_of({1, 2, 3}), doctest::Contains("3 numbers are no tile"));
  CHECK_THROWS_WITH(choice::tile_of({2, 0, 4, 4, 32, 32, 64, 64, 8, 2}),
                    doctest::Contains("there is no engine 2"));
  CHECK_THROWS_WITH(choice::tile_of({0, 0, 4, 4, -32, 32, 64, 64, 8, 2}),
                    doctest::Contains("below 0"));
}

TEST_CASE("gpu pools: the space has the papers' warps, in blocks that the GPU holds") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const std::vector<GpuKind> kinds{bfloats, cuda};
  const std::vector<GpuTile> seeds = choice::tscompiler_tiles(machine, kinds);
  const Space space = tile_space(machine, kinds, seeds);
  REQUIRE(space.seeds.size() == seeds.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) CHECK(tile_at(space.seeds[i]) == seeds[i]);
  std::mt19937_64 random(1);
  Untried untried(space);
  int of_cuda_cores = 0;
  for (int i = 0; i < 300; ++i) {
    const GpuTile tile = tile_at(space.values_of(untried.take_random(random).value()));
    CAPTURE(tile.to_string());
    CHECK(choice::wrong_with(machine, kinds, tile).empty());
    of_cuda_cores += tile.engine == choice::Engine::CudaCores ? 1 : 0;
  }
  CHECK(of_cuda_cores > 20);
  CHECK(of_cuda_cores < 280);
}

TEST_CASE("gpu pools: predicted times are those of the cost model's waves") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> tiles = choice::tscompiler_tiles(machine, {cuda});
  const auto figures = pool_machine(machine, {cuda});
  const choice::GpuMicroKernels kernels(
      machine, tiles, [](const GpuTile& tile) { return choice::timed_form(tile, tile.block_k); });
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const PoolSpeed speed = figures->predicted({choice::numbers_of(tiles[i]), {64, 500}, true});
    CHECK(speed.alone[1] == kernels.task_seconds(i, 500));
    CHECK(speed.together[0] == kernels.wave_seconds(i, 64));
    CHECK(figures->blocks_per_wave(speed.plan.block) == kernels.blocks_per_wave(i));
    CHECK(wave_seconds_of(*figures, speed, {1, 300, 200, 500}) > 0);
  }
}

TEST_CASE("gpu pools: tscompiler's search improves on the aligned tiles that it begins from") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const char* name : {"a100", "h100"}) {
    const OnGpu gpu(name, {bfloats, cuda}, shapes_of_layers(random), random());
    const std::vector<PoolSpeed> found = gpu.predicted_by(search_macro_kernels, 120);
    REQUIRE(found.size() == 120);
    for (const PoolSpeed& speed : found)
      CHECK(choice::wrong_with(gpu.machine, gpu.kinds, choice::tile_of(speed.plan.block)).empty());
    std::vector<PoolSpeed> aligned;
    for (const PoolKernel& kernel : gpu.figures->aligned())
      aligned.push_back(gpu.figures->predicted({kernel, found.front().plan.depths, true}));
    const double tuned =
                     wave_model_share(gpu.problem, found, best_macro_kernels(gpu.problem, found)),
                 first = wave_model_share(gpu.problem, aligned,
                                          best_macro_kernels(gpu.problem, aligned));
    MESSAGE(std::string(name) << ": " << tuned << " of the limit, aligned tiles " << first);
    CHECK(tuned > first);
    CHECK(tuned < 1);
  }
}

TEST_CASE("gpu pools: dietcode's rounds find more than as many random tiles") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  double tuned = 0, drawn = 0;
  for (const char* name : {"a100", "h200"}) {
    const OnGpu gpu(name, {cuda}, shapes_of_layers(random), random());
    const std::vector<PoolSpeed> found = gpu.predicted_by(search_dietcode_tiles, 80);
    REQUIRE(found.size() == 80);
    std::vector<PoolSpeed> others;
    while (others.size() < found.size()) {
      const auto kernel = gpu.figures->random_kernel(random);
      if (!kernel) continue;
      CHECK(choice::wrong_with(gpu.machine, gpu.kinds, choice::tile_of(*kernel)).empty());
      others.push_back(gpu.figures->predicted({*kernel, found.front().plan.depths, true}));
    }
    for (const PoolSpeed& speed : found)
      CHECK(choice::wrong_with(gpu.machine, gpu.kinds, choice::tile_of(speed.plan.block)).empty());
    tuned += std::log(dietcode_share(gpu.problem, found, favoured_kernels(gpu.problem, found)));
    drawn += std::log(dietcode_share(gpu.problem, others, favoured_kernels(gpu.problem, others)));
  }
  MESSAGE("of the limit: " << std::exp(tuned / 2) << ", with random tiles " << std::exp(drawn / 2));
  CHECK(tuned > drawn);
}

TEST_CASE("gpu pools: a search that was stopped goes on as if it had not been") {
  std::mt19937_64 random(5);
  const OnGpu gpu("a100", {cuda}, shapes_of_layers(random), 3);
  using Search = void (*)(const PoolProblem&, KernelLedger&);
  for (const Search search : {Search(search_macro_kernels), Search(search_dietcode_tiles)}) {
    const std::vector<PoolSpeed> whole = gpu.predicted_by(search, 40);
    REQUIRE(whole.size() == 40);
    const std::vector<PoolSpeed> first = gpu.predicted_by(search, 23);
    CHECK(tiles_of(gpu.predicted_by(search, 40, first)) == tiles_of(whole));
  }
}
