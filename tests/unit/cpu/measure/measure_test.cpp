// The memory that measuring a tile touches.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "targets/cpu/measure/measure.hpp"
#include "targets/cpu/tile/main_loop.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;

namespace {

/// The parts of memory that a main loop reads and writes, in bytes; those of the call that had
/// most.
struct Touched {
  std::int64_t a = 0, b = 0, c = 0;
} touched;
const std::array<Tile, 2> tiles{{{14, 32}, {1, 128}}};
int panel = 0;
std::int64_t calls = 0;

std::int64_t extent(std::initializer_list<std::array<std::int64_t, 2>> loops) {
  std::int64_t last = 0;
  for (const auto& [count, stride] : loops) last += (count - 1) * stride;
  return (last + 1) * static_cast<std::int64_t>(sizeof(float));
}

template <int index>
void record(const float*, std::int64_t a_row_stride, const void*, std::int64_t b_k_stride,
            std::int64_t panel_stride, std::int64_t k, float*, std::int64_t c_row_stride,
            std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  const Tile running = tiles[index];
  const std::int64_t panels = std::max(1, running.columns / panel);
  touched.a = std::max(touched.a, extent({{running.rows, a_row_stride}, {k, 1}}));
  touched.b = std::max(
      touched.b,
      extent({{k, b_k_stride}, {panels, panel_stride}, {std::min(running.columns, panel), 1}}));
  touched.c = std::max(touched.c, extent({{running.rows, c_row_stride}, {running.columns, 1}}));
  ++calls;
  volatile int turns = 0;  // long enough for a clock
  while (turns < 1000) turns = turns + 1;
}

}  // namespace

TEST_CASE("tiles are measured with operands that L1 holds, however small it is") {
  constexpr std::int64_t least_l1 = 32 << 10;
  const Isa& isa = *std::ranges::find(all_isas(), "avx512", &Isa::name);
  panel = isa.panel_f32;
  const MainLoopTable table{{tiles.begin(), tiles.end()}, {record<0>, record<1>}};
  touched = {};
  const std::vector<dyn::choice::TileSpeed> speeds = measure_tiles(isa, table);
  CHECK(calls > 20);
  REQUIRE(speeds.size() == 2);
  CHECK(speeds[1].rows == 1);
  CHECK(speeds[1].columns == 128);
  CHECK(speeds[0].seconds_per_k > 0);
  CHECK(touched.a + touched.b + touched.c < least_l1);
}
