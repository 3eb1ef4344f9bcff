// Vortex's candidates bottom-up, and what each costs.

#include "src/choice/policies/vortex/layers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;

namespace {

// 1, 2, 3, 4, 6, 8, 12, ...
bool is_multiple(std::int64_t of, std::int64_t base) {
  if (of % base != 0) return false;
  std::int64_t count = of / base;
  while (count % 2 == 0) count /= 2;
  return count == 1 || count == 3;
}

Machine small_machine() {
  Machine machine = dyn::testing::round_machine();
  machine.tiles = {{1, 32, 4e-9}, {2, 32, 5e-9}, {3, 32, 7e-9}, {1, 64, 6e-9}};
  machine.levels[1].bytes = 32768;  // 8192 floats: blocks have 128 to 6144
  return machine;
}

}  // namespace

TEST_CASE("vortex's blocks are all multiples that L2 admits, each with every tile below it") {
  const Machine machine = small_machine();
  const VortexLayers layers = vortex_layers(machine);
  CHECK(layers.tiles == std::vector<RegisterTile>{{1, 32}, {2, 32}, {3, 32}, {1, 64}});
  REQUIRE(layers.below.size() == layers.blocks.size());
  std::size_t place = 0;
  for (std::int64_t m = 1; m <= 6144; ++m) {
    for (std::int64_t n = 32; (m + n) * 16 + m * n <= 6144; n += 32) {
      for (std::int64_t k = 16; (m + n) * k + m * n <= 6144; k += 16) {
        if (!is_multiple(k, 16) || (m + n) * k + m * n < 128) continue;
        std::vector<std::size_t> below;
        for (std::size_t tile = 0; tile < layers.tiles.size(); ++tile) {
          if (is_multiple(m, layers.tiles[tile].rows) && is_multiple(n, layers.tiles[tile].columns))
            below.push_back(tile);
        }
        if (below.empty()) continue;
        REQUIRE(place < layers.blocks.size());
        CHECK(layers.blocks[place] == CacheBlock{m, n, k});
        CHECK(layers.below[place] == below);
        ++place;
      }
    }
  }
  CHECK(place == layers.blocks.size());
}

TEST_CASE("vortex's costs of both layers, by hand") {
  Machine machine = small_machine();
  machine.seconds_per_call = 20e-9;
  machine.levels[2].bandwidth = {20e9, 20e9};  // 10 bytes a ns for each of two threads
  const RegisterTile tile{2, 32};
  CHECK(register_seconds(machine, tile, 64, {}, VortexAnalyser::Mixed) ==
        doctest::Approx(64 * 5e-9 + 20e-9));
  // Analytical: 4 vectors of 1 ns for each step; 34 floats at 128 bytes a ns load, 256 bytes store.
  CHECK(register_seconds(machine, tile, 64, {}, VortexAnalyser::Analytical) ==
        doctest::Approx(136.0 / 128e9 + 64 * 4e-9 + 256.0 / 128e9));
  // 4 x 64 x 64: four tiles of 340 ns; A and B are 17408 bytes, so 435.2 ns for each tile, which is
  // more; the sums are 1024 bytes.
  const CacheBlock block{4, 64, 64};
  CHECK(block_seconds(machine, block, tile, {}, VortexAnalyser::Mixed) ==
        doctest::Approx(435.2e-9 + 3 * 435.2e-9 + 340e-9 + 102.4e-9));
  // Ten times the bandwidth: computing takes longer.
  machine.levels[2].bandwidth = {200e9, 200e9};
  CHECK(block_seconds(machine, block, tile, {}, VortexAnalyser::Mixed) ==
        doctest::Approx(43.52e-9 + 3 * 340e-9 + 340e-9 + 10.24e-9));
  // What is moved is not read as it lies.
  const BlockOperands moved{{}, true, true};
  const double moves = move_seconds(machine, {2, 32, 4, 64, 64}, 64, moved, machine.threads);
  CHECK(moves > 0);
  CHECK(block_seconds(machine, block, tile, moved, VortexAnalyser::Mixed) ==
        doctest::Approx(moves / 4 + 3 * std::max(moves / 4, 340e-9) + 340e-9 + 10.24e-9));
}

TEST_CASE("each of vortex's blocks keeps the tile of least cost") {
  const std::uint64_t seed = dyn::testing::test_seed(20261202);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 4; ++round) {
    const Machine machine = dyn::testing::random_machine(random, 1 + round);
    const VortexLayers layers = vortex_layers(machine);
    const std::vector<VortexBlock> all =
        all_vortex_blocks(machine, layers, {}, VortexAnalyser::Mixed);
    const std::vector<VortexBlock> best = best_vortex_blocks(all);
    MESSAGE(layers.tiles.size() << " tiles, " << all.size() << " candidates, " << best.size()
                                << " blocks");
    CHECK(all.size() > 1000);
    REQUIRE(best.size() == layers.blocks.size());
    std::size_t place = 0;
    for (const VortexBlock& one : all) {
      const auto extents = [](const VortexBlock& of) {
        return CacheBlock{of.block.rows, of.block.columns, of.block.depth};
      };
      if (extents(one) != extents(best[place])) ++place;
      REQUIRE(extents(one) == extents(best[place]));
      CHECK(best[place].seconds <= one.seconds);
      CHECK(one.block.rows % one.block.tile_rows == 0);
      CHECK(one.block.columns % one.block.tile_columns == 0);
    }
  }
}
