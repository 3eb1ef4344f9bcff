// Tiles of a tuning file: what is taken of them, and what is refused.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/choice/calibration/json.hpp"
#include "src/choice/policies/gpu/paper_spaces.hpp"
#include "src/choice/policies/gpu/pool_tiles.hpp"
#include "src/choice/policies/gpu/tuned_tiles.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"

using namespace dyn::choice;
using dyn::Error;
using dyn::rkernel::Policy;

namespace {

const GpuKind plain{Engine::CudaCores, dyn::DType::f32};

GpuTile some_tile() {
  GpuTile tile = cuda_warp(4, 4, 4);
  tile.block_m = 2 * tile.warp_m;
  tile.block_n = 2 * tile.warp_n;
  tile.block_k = 16;
  return at_stages(tile, 3);
}

dyn::rkernel::Tuning tuning_with(const std::vector<PoolKernel>& kernels) {
  nlohmann::json json = nlohmann::json::array();
  for (const PoolKernel& kernel : kernels)
    json.push_back(PoolSpeed{{kernel, {64}, true}, {1e-6}, {2e-6}});
  dyn::rkernel::Tuning tuning{"file.json", "cuda/a100", "an A100", {}, false, {}};
  tuning.pools.push_back({Policy::DietCode, 0, json.dump(), "[[1,2,3,4],[5,6,7,8]]"});
  return tuning;
}

}  // namespace

TEST_CASE(
    "tuned tiles: a policy and its variants choose from those of the file, and others do not") {
  const GpuMachine& machine = dyn::ptx::described_gpu("a100");
  const auto found =
      tuned_tiles(machine, {plain}, tuning_with({numbers_of(some_tile())}), Policy::DietCode);
  REQUIRE(found);
  CHECK(found->tiles == std::vector{some_tile()});
  REQUIRE(found->sampled.size() == 2);
  CHECK(found->sampled[1].n == 7);
  CHECK_FALSE(
      tuned_tiles(machine, {plain}, tuning_with({numbers_of(some_tile())}), Policy::TSCompiler));

  const GpuPaperSpaces spaces(machine, {plain}, {{Policy::DietCode, *found}});
  const GpuShapeFor form = [](const GpuTile& tile) { return timed_form(tile, tile.block_k); };
  for (const Policy policy :
       {Policy::DietCode, Policy::DietCodePadding, Policy::DietCodePartition}) {
    CHECK(spaces.tiles(policy, {1, 64, 64, 64}, form) == found->tiles);
    REQUIRE(spaces.tuned(policy) != nullptr);
    CHECK(spaces.tuned(policy)->sampled.size() == 2);
  }
  CHECK(spaces.tuned(Policy::TSCompiler) == nullptr);
  CHECK(spaces.tiles(Policy::TSCompiler, {1, 64, 64, 64}, form) ==
        tscompiler_tiles(machine, {plain}));
}

TEST_CASE("tuned tiles: those that no code computes are refused, with the reason") {
  const GpuMachine& machine = dyn::ptx::described_gpu("a100");
  const auto refused = [&](const GpuTile& tile, const char* why) {
    CHECK_THROWS_WITH_AS(
        tuned_tiles(machine, {plain}, tuning_with({numbers_of(some_tile()), numbers_of(tile)}),
                    Policy::DietCode),
        doctest::Contains(why), Error);
  };
  GpuTile tile = some_tile();
  tile.engine = Engine::TensorCores;
  tile.operands = dyn::DType::bf16;
  refused(tile, "number 2, bf16 tensor cores");
  refused(tile, "contractions multiply with CUDA cores here");
  tile = some_tile();
  tile.thread_m = 5;
  refused(tile, "no warp computes");
  tile = some_tile();
  tile.block_n += 1;
  refused(tile, "are no whole warps and steps");
  tile = some_tile();
  tile.block_m *= 16;
  tile.block_n *= 2;
  refused(tile, "more than 32 warps");
  tile = some_tile();
  tile.stages = 5;
  refused(tile, "it has 5 stages");
  tile = some_tile();
  tile.block_k = 1024;
  refused(tile, "does not hold a block of it");
  CHECK_THROWS_WITH_AS(
      tuned_tiles(machine, {plain}, tuning_with({{1, 32, 4, 64, 0}}), Policy::DietCode),
      doctest::Contains("micro-kernels of policy 'dietcode': 5 numbers are no tile"), Error);
  CHECK_THROWS_WITH_AS(tuned_tiles(machine, {plain}, tuning_with({}), Policy::DietCode),
                       doctest::Contains("it has none"), Error);
}
