// Tiles that blocks share (split K, Stream-K), in the emulator, against plain loops in double.

#include <doctest/doctest.h>

#include <algorithm>

#include "src/base/rounding.hpp"
#include "targets/ptx/tile/strip_layout.hpp"
#include "targets/ptx/tile/window_layout.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;

namespace {

std::int64_t below(std::mt19937_64& random, std::int64_t most) {
  return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
}

/// Rows begin at multiples of 16 bytes where copies are vectors.
std::int64_t slack_of(Copy copy, std::int64_t inner, DType dtype) {
  const auto elements = static_cast<std::int64_t>(16 / size_of(dtype));
  return copy == Copy::Vectors ? (elements - inner % elements) % elements : 1;
}

void check_split(const EmulatedMatmul& matmul, const MatmulCase& c, std::mt19937_64& random) {
  const std::vector<Bytes> buffers = random_buffers(c, random);
  INFO(to_string(c));
  const Bytes output = matmul.run(c, buffers);
  for (const FaultReport& report : emulator().take_reports()) FAIL_CHECK(to_string(report));
  REQUIRE(worst_error(c, buffers, output) <= 1);
  CHECK(matmul.run(c, buffers) == output);
}

/// Any number of tiles at the end, in parts of any length.
void share_tiles(MatmulCase& c, std::mt19937_64& random, int round) {
  const std::int64_t steps = std::max<std::int64_t>(1, ceil_div(c.k, c.tile.block_k));
  const std::int64_t shared = round % 6 == 5 ? 0 : below(random, tiles_of(c));
  c.shared = {shared, round % 3 == 0 ? ceil_div(steps, below(random, 4))
                                     : below(random, shared * steps + 1)};
  if (c.k == 0) c.shared = {};
  c.blocks = static_cast<int>(below(random, tickets_of(c) + 2));
}

void check_splits(MatmulCase c, std::mt19937_64& random, int rounds) {
  c.split = true;
  const EmulatedMatmul matmul(emulator(), c);
  for (int i = 0; i < rounds; ++i) {
    c.m = below(random, 3 * c.tile.block_m);
    c.n = below(random, 3 * c.tile.block_n);
    c.k = i % 9 == 8 ? 0 : below(random, 9 * c.tile.block_k);
    c.batch = 1 + i % 2;
    c.a_slack = slack_of(c.a_copy, c.k, c.a);
    c.b_slack = slack_of(c.b_copy, c.b_order == BOrder::RowsAlongK ? c.k : c.n, c.b);
    share_tiles(c, random, i);
    check_split(matmul, c, random);
  }
}

MatmulCase case_of(const choice::GpuTile& tile, Copy copy) {
  MatmulCase c;
  c.tile = tile;
  c.a_copy = c.b_copy = copy;
  if (copy == Copy::Vectors || tile.integers()) c.a = c.b = tile.operands;
  if (tile.integers()) c.output = DType::i32;
  c.bias = true;
  return c;
}

}  // namespace

TEST_CASE(
    "tiles that blocks share have the sums of all their parts, wherever these begin and end") {
  std::mt19937_64 random(contraction_seed());
  for (const choice::GpuTile& tile :
       {small_cuda_tile(), small_tensor_tile(DType::bf16), small_tensor_tile(DType::i8)}) {
    for (const Copy copy : {Copy::Vectors, Copy::Elements})
      check_splits(case_of(tile, copy), random, 12);
    check_splits(case_of(overlapped(tile), Copy::Vectors), random, 12);
  }
  MatmulCase c = case_of(small_tensor_tile(DType::f16), Copy::Vectors);
  c.transpose_b = true;
  c.b_order = BOrder::RowsAlongK;
  check_splits(c, random, 6);
}

TEST_CASE("windows of few channels are shared in parts, of which each has its strips") {
  std::mt19937_64 random(contraction_seed());
  MatmulCase c = case_of(small_tensor_tile(DType::bf16), Copy::Vectors);
  c.a_copy = Copy::Strips;
  c.split = true;
  WindowImages images{.images = 2,
                      .height = 5,
                      .width = 40,
                      .channels = 3,
                      .size = {11, 11},
                      .stride = {2, 2},
                      .before = {5, 5},
                      .after = {5, 5}};
  set_windows(c, images);
  c.tile = with_windows(c.tile, build(c).problem);
  const EmulatedMatmul matmul(emulator(), c);
  for (int i = 0; i < 4; ++i) {
    images.height = below(random, 9);
    images.width = 32 + 2 * below(random, 9);
    set_windows(c, images);
    c.n = below(random, 70);
    c.b_slack = slack_of(Copy::Vectors, c.n, c.b);
    share_tiles(c, random, i);
    check_split(matmul, c, random);
  }
}

TEST_CASE("windows are shared in parts that begin at any tap") {
  std::mt19937_64 random(contraction_seed());
  for (const Copy copy : {Copy::Vectors, Copy::Elements}) {
    MatmulCase c = case_of(small_tensor_tile(DType::bf16), copy);
    c.split = true;
    WindowImages images{
        .images = 2, .height = 7, .width = 9, .channels = copy == Copy::Vectors ? 24 : 13};
    set_windows(c, images);
    c.tile.window_entry_bytes = window_entry_bytes(build(c).problem);
    const EmulatedMatmul matmul(emulator(), c);
    for (int i = 0; i < 6; ++i) {
      images.height = below(random, 9);
      images.width = below(random, 9);
      set_windows(c, images);
      c.n = below(random, 70);
      c.b_slack = slack_of(copy, c.n, c.b);
      share_tiles(c, random, i);
      check_split(matmul, c, random);
    }
  }
}
