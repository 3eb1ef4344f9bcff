// Searches that contractions have in common.

#include <doctest/doctest.h>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/programs/tile_searches.hpp"

using namespace dyn;
using namespace dyn::ptx;
using choice::GpuContraction;
using choice::GpuTile;

TEST_CASE("contractions that tiles meet in one form share a search, whatever their sizes") {
  const choice::GpuMachine machine = described_gpu("a100");
  const std::vector<GpuTile> bf16 = choice::gpu_tiles(machine, DType::bf16, false),
                             f32 = choice::gpu_tiles(machine, DType::f32, false);
  TileSearches searches;
  int made = 0;
  const auto search_of = [&](const std::vector<GpuTile>& tiles, const GpuContraction& shape) {
    const auto form = [&](const GpuTile&) { return shape; };
    return searches.shared(tiles, form, [&] {
      ++made;
      return std::make_shared<const choice::GpuTileSearch>(machine, tiles, std::vector<GpuTile>(),
                                                           form);
    });
  };
  const GpuContraction first{.m = 5, .n = 7, .k = 9};
  const auto search = search_of(bf16, first);
  CHECK(search_of(bf16, {.batch = 2, .m = 50, .n = 70, .k = 90}) == search);
  CHECK(made == 1);
  GpuContraction other = first;
  other.a_vectors = false;
  CHECK(search_of(bf16, other) != search);
  other = first;
  other.epilogue_operations = 30;
  CHECK(search_of(bf16, other) != search);
  CHECK(search_of(f32, first) != search);
  CHECK(made == 4);
}
