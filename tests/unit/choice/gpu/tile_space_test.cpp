// The space of GPU programs that tuners search.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "src/choice/gpu/tile_space.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using namespace dyn::choice;

namespace {

struct SpaceOfGpu {
  explicit SpaceOfGpu(const char* gpu, DType operands)
      : machine(ptx::described_gpu(gpu)), programs{gpu_tiles(machine, operands, false)} {
    programs.own = programs.tiles.size();
    programs.pairs = gpu_pairs(machine, programs.tiles);
    programs.split = true;
    std::set<std::pair<Engine, DType>> kinds;
    for (const GpuTile& tile : gpu_tiles(machine, operands, false)) {
      if (!kinds.emplace(tile.engine, tile.operands).second) continue;
      for (const GpuTile& other : every_gpu_tile(machine, tile.engine, tile.operands)) {
        if (std::ranges::find(programs.tiles, other) == programs.tiles.end())
          programs.tiles.push_back(other);
      }
    }
  }
  GpuMachine machine;
  GpuPrograms programs;
};

GpuContraction sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k, .a_element_bytes = 2, .b_element_bytes = 2};
}

}  // namespace

TEST_CASE("tile space: every tile fits its GPU, and dyn's candidates are among them") {
  for (const char* gpu : {"a100", "h200"}) {
    for (const DType operands : {DType::f32, DType::bf16, DType::i8}) {
      const SpaceOfGpu of(gpu, operands);
      CHECK(of.programs.tiles.size() > 10 * of.programs.own);
      for (const GpuTile& tile : of.programs.tiles) {
        CAPTURE(tile.to_string());
        CHECK(occupancy(of.machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks >
              0);
        if (tile.overlapped) CHECK(tile.output_bands() > 0);
      }
      for (const GpuTile& tile : gpu_tiles(of.machine, operands, false)) {
        CAPTURE(tile.to_string());
        const std::vector<GpuTile> every = every_gpu_tile(of.machine, tile.engine, tile.operands);
        CHECK(std::ranges::find(every, tile) != every.end());
      }
    }
  }
}

TEST_CASE("tile space: allowed points are programs that kernels can launch") {
  const SpaceOfGpu of("a100", DType::bf16);
  std::mt19937_64 random(dyn::testing::test_seed(44));
  for (const GpuContraction& shape :
       {sizes(1, 768, 768), sizes(777, 512, 3000), sizes(5000, 4096, 1024)}) {
    const auto shape_for = [&](const GpuTile&) { return shape; };
    const GpuTileSpace space(of.machine, of.programs, shape_for);
    const auto seeds = space.seeds();
    REQUIRE(seeds.size() == of.programs.own);
    double last = 0;
    for (const auto& seed : seeds) {
      CHECK(space.allows(seed));
      const GpuProgram program = space.program_at(seed);
      CHECK(program.regions.size() == 1);
      CHECK(program.regions[0].tile < of.programs.own);
      CHECK(program.seconds >= last);
      last = program.seconds;
    }
    std::size_t splits = 0, pairs = 0, further = 0;
    for (int i = 0; i < 2000; ++i) {
      auto point = seeds[random() % seeds.size()];
      for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
        const std::size_t axis = random() % point.size();
        point[axis] = space.axes()[axis].values[random() % space.axes()[axis].values.size()];
      }
      // Cuts need a pair, whose own tile values say nothing.
      if (random() % 8 == 0) {
        const std::vector<GpuTileSpace::Axis>& axes = space.axes();
        for (std::size_t axis = 0; axis + 3 < point.size(); ++axis)
          point[axis] = axes[axis].values.front();
        const GpuTile& first = of.programs.tiles.front();
        point[0] = static_cast<std::int64_t>(first.engine);
        point[1] = first.warp_m, point[2] = first.warp_n, point[3] = first.block_m;
        point[4] = first.block_n, point[5] = first.block_k, point[6] = first.stages;
        point[7] = first.overlapped ? 1 : 0;
        point[point.size() - 3] = 1 + static_cast<std::int64_t>(random() % 2);
      }
      if (!space.allows(point)) continue;
      const GpuProgram program = space.program_at(point);
      CHECK(gpu_illegality(of.programs, shape, program.regions).empty());
      CHECK(program.seconds > 0);
      CHECK(program.seconds ==
            gpu_program_cost(of.machine, shape_for, of.programs.tiles, program.regions));
      CHECK(space.unmet(point) <= 2);
      splits += program.regions[0].split.tiles > 0 ? 1 : 0;
      pairs += program.regions.size() == 2 ? 1 : 0;
      further += program.regions[0].tile >= of.programs.own ? 1 : 0;
    }
    CHECK(further > 20);
    CHECK(splits > 0);
    if (shape.m > 700) CHECK(pairs > 0);
  }
}

TEST_CASE("tile space: programs that kernels cannot launch are named") {
  const SpaceOfGpu of("a100", DType::bf16);
  const GpuContraction shape = sizes(1024, 1024, 1024);
  const GpuRegion whole{0, 0, 1024, 0, 1024, {}};
  const auto wrong = [&](auto change) {
    std::vector<GpuRegion> regions{whole};
    change(regions);
    return gpu_illegality(of.programs, shape, regions);
  };
  CHECK(wrong([](auto&) {}).empty());
  CHECK(wrong([](auto& r) { r.clear(); }).find("0 regions") != std::string::npos);
  CHECK(wrong([](auto& r) { r[0].tile = 9999; }).find("no such tile") != std::string::npos);
  CHECK(wrong([](auto& r) { r[0].m = 1000; }).find("cover") != std::string::npos);
  CHECK(wrong([](auto& r) { r[0].split = {1, 100000}; }) != "");
  CHECK(wrong([](auto& r) { r[0].split = {-1, 2}; }) != "");
  CHECK(wrong([](auto& r) { r[0].split = {1, 0}; }) != "");
  CHECK(wrong([](auto& r) {
          r[0].m = 500;
          r.push_back({0, 500, 524, 0, 1024, {}});
        }).find("these two tiles") != std::string::npos);
  REQUIRE_FALSE(of.programs.pairs.empty());
  const GpuPair pair = of.programs.pairs.front();
  const std::int64_t block = of.programs.tiles[pair.first].block_m;
  const auto cut_at = [&](std::int64_t cut) {
    return gpu_illegality(
        of.programs, shape,
        {{pair.first, 0, cut, 0, 1024, {}}, {pair.second, cut, 1024 - cut, 0, 1024, {}}});
  };
  CHECK(cut_at(block).empty());
  CHECK(cut_at(block + 1).find("whole blocks") != std::string::npos);
}
