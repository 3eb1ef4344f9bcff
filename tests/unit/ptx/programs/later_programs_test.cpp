// Tiles and code that come after a load.

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>

#include "src/choice/policies/gpu/vortex_tiles.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/programs/candidates.hpp"
#include "targets/ptx/programs/later_code.hpp"
#include "targets/ptx/programs/tile_table.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using choice::GpuTile;

namespace {

std::vector<GpuTile> many_tiles() {
  std::vector<GpuTile> tiles;
  for (const choice::RatedTile& one : choice::all_vortex_tiles(
           described_gpu("a100"), {{choice::Engine::TensorCores, DType::bf16}}))
    tiles.push_back(one.tile);
  return tiles;
}

}  // namespace

TEST_CASE("tiles keep their numbers, whoever adds others meanwhile") {
  const std::vector<GpuTile> tiles = many_tiles();
  const std::vector<GpuTile> first(tiles.begin(), tiles.begin() + 5);
  TileTable table(first);
  std::vector<std::vector<std::size_t>> numbers(4);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < numbers.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < tiles.size(); ++i)
        numbers[thread].push_back(table.number_of(tiles[(i * (2 * thread + 1)) % tiles.size()]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<GpuTile> all = table.all();
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(table.number_of(first[i]) == i);
  for (std::size_t thread = 0; thread < numbers.size(); ++thread) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const GpuTile& tile = tiles[(i * (2 * thread + 1)) % tiles.size()];
      CHECK(table.at(numbers[thread][i]) == tile);
      CHECK(all[numbers[thread][i]] == tile);
    }
  }
  CHECK(std::set<GpuTile>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("a class of later code asks once for its code, and has none where nobody makes any") {
  const std::vector<GpuTile> tiles = many_tiles();
  std::atomic<std::intptr_t> asked{0};
  LaterCode code([&](codegen::KernelSource source) {
    CHECK(source.key == "key");
    return reinterpret_cast<const void*>(++asked);
  });
  const auto source = [] { return codegen::KernelSource{"key", {}}; };
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 20; ++i) {
      const GpuContractionClass own{.tile = tiles[i], .lanes = {}};
      CHECK(code.number_of(own, source) == i);
      CHECK(code.at(i).shape_class == own);
      CHECK(code.at(i).function == reinterpret_cast<const void*>(i + 1));
    }
  }
  CHECK(asked == 20);
  // Two tiles are another class than one.
  CHECK(code.number_of({.tile = tiles[0], .lanes = {}, .second = RegionClass{.tile = tiles[1]}},
                       source) == 20);
  LaterCode planned({});
  CHECK(planned.at(planned.number_of({.tile = tiles[0], .lanes = {}}, source)).function == nullptr);
}

TEST_CASE("windows are copied by threads that share a row evenly, and blocks have room for them") {
  const auto& a100 = described_gpu("a100");
  const LoweredGraph graph = lowered(R"(
dim N in 1..8
graph g(x: f32[N, 20, 20, 8]) -> (y: f32[N, 20, 20, 64]) {
  y = conv(x, w: f32[3, 3, 8, 64]) before=[1, 1] after=[1, 1]
  return y
}
)");
  GpuTile tile;  // 128 x 128, 8 warps
  tile.block_k = 32;
  const auto own = tile_for(tile, graph.contraction(), a100);
  REQUIRE(own.has_value());
  CHECK(own->window_entry_bytes > 0);
  tile.block_k = 24;  // 6 chunks of 16 bytes for 256 threads
  CHECK_FALSE(tile_for(tile, graph.contraction(), a100).has_value());
  const LoweredGraph plain = lowered(product);
  CHECK(tile_for(tile, plain.contraction(), a100) == tile);
}
