// Products of windows in the emulator: convolutions as implicit matrices, against plain loops in
// double.

#include <doctest/doctest.h>

#include <algorithm>

#include "targets/ptx/tile/window_layout.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using dyn::choice::Engine;

namespace {

choice::GpuTile with_table(choice::GpuTile tile) {
  MatmulCase c;
  c.tile = tile;
  set_windows(c, {});
  tile.window_entry_bytes = window_entry_bytes(build(c).problem);
  return tile;
}

/// Taps are a part of the form; all else is drawn.
WindowImages random_images(const MatmulCase& form, std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  WindowImages images{.images = draw(1, 3), .height = draw(1, 9), .width = draw(1, 11)};
  images.size = form.windows->size;
  images.outside = form.windows->outside;
  const auto vector = static_cast<std::int64_t>(16 / size_of(form.a));
  const bool vectors = form.a_copy == Copy::Vectors;
  images.channels = vectors ? vector * draw(1, 5) : draw(1, 21);
  images.slack = vectors ? vector * draw(0, 1) : draw(0, 3);
  for (const std::size_t i : {0U, 1U}) {
    images.stride[i] = draw(1, 3);
    images.dilation[i] = draw(1, 3);
    images.before[i] = draw(0, 3);
    const std::int64_t span = (images.size[i] - 1) * images.dilation[i] + 1;
    const std::int64_t extent = i == 0 ? images.height : images.width;
    images.after[i] = std::max<std::int64_t>(0, span - extent - images.before[i]) + draw(0, 2);
  }
  return images;
}

void check_windows(const EmulatedMatmul& matmul, const MatmulCase& c, std::mt19937_64& random) {
  const std::vector<Bytes> buffers = random_buffers(c, random);
  INFO(to_string(c));
  const Bytes output = matmul.run(c, buffers);
  for (const FaultReport& report : emulator().take_reports()) FAIL_CHECK(to_string(report));
  REQUIRE(worst_error(c, buffers, output) <= 1);
  if (c.tile.engine == Engine::CudaCores && c.output == DType::f32 && !c.bias)
    CHECK(is_fma_loop(c, buffers, output));
}

void check_images(MatmulCase c, std::mt19937_64& random, int rounds) {
  const EmulatedMatmul matmul(emulator(), c);
  for (int i = 0; i < rounds; ++i) {
    set_windows(c, random_images(c, random));
    c.n = 1 + static_cast<std::int64_t>(random() % 70);
    c.b_slack = c.b_copy == Copy::Vectors ? (16 - c.n % 16) : static_cast<std::int64_t>(i % 3);
    c.offset = c.a_copy == Copy::Vectors || c.b_copy == Copy::Vectors ? 16 : i % 4;
    c.blocks = 1 + static_cast<int>(random() % 3);
    check_windows(matmul, c, random);
  }
}

MatmulCase form_of(const choice::GpuTile& tile, Copy copy, std::array<std::int64_t, 2> taps) {
  MatmulCase c;
  c.tile = with_table(tile);
  c.a = c.b = copy == Copy::Vectors || tile.integers() ? tile.operands : DType::f32;
  c.a_copy = c.b_copy = copy;
  set_windows(c, {.size = taps});
  if (tile.integers()) {
    c.output = DType::i32;
    c.a = DType::u8;
  }
  return c;
}

}  // namespace

TEST_CASE("windows: products on CUDA cores have the bits of a loop of fused multiply-adds") {
  std::mt19937_64 random(contraction_seed());
  for (const Copy copy : {Copy::Vectors, Copy::Elements})
    for (const std::array<std::int64_t, 2> taps : {std::array<std::int64_t, 2>{3, 3}, {1, 5}})
      check_images(form_of(small_cuda_tile(), copy, taps), random, 6);
}

TEST_CASE("windows: products on tensor cores, from copies of either kind") {
  std::mt19937_64 random(contraction_seed());
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const Copy copy : {Copy::Vectors, Copy::Elements}) {
      MatmulCase c = form_of(small_tensor_tile(dtype), copy, {3, 2});
      c.bias = c.gelu = true;
      check_images(c, random, 4);
    }
  check_images(form_of(overlapped(small_tensor_tile(DType::bf16)), Copy::Vectors, {3, 2}), random,
               6);
}

TEST_CASE("windows: products of bytes, whose zero point stands outside of the tensor") {
  std::mt19937_64 random(contraction_seed());
  for (const Copy copy : {Copy::Vectors, Copy::Elements}) {
    for (const std::int64_t outside : {0, 114, 255}) {
      MatmulCase c = form_of(small_tensor_tile(DType::i8), copy, {3, 2});
      c.windows->outside = outside;
      c.bias = true;
      c.gelu = outside == 114;
      if (c.gelu) c.output = DType::u8;
      check_images(c, random, 4);
    }
  }
}

TEST_CASE("windows of one tap skip elements") {
  std::mt19937_64 random(contraction_seed());
  check_images(form_of(small_tensor_tile(DType::bf16), Copy::Vectors, {1, 1}), random, 4);
  check_images(form_of(small_cuda_tile(), Copy::Elements, {1, 1}), random, 4);
}

TEST_CASE("windows: no bank is met twice, and no sector is read in vain") {
  for (const choice::GpuTile& tile :
       {small_cuda_tile(), small_tensor_tile(DType::bf16), small_tensor_tile(DType::i8)}) {
    MatmulCase c = form_of(tile, Copy::Vectors, {3, 3});
    set_windows(c, {.height = 8, .width = 8, .channels = 32});
    c.n = c.tile.block_n;
    c.b_slack = 0;
    c.blocks = 1;
    INFO(to_string(c));
    std::mt19937_64 random(contraction_seed());
    const EmulatedMatmul matmul(emulator(), c);
    emulator().set_counting(true);
    matmul.run(c, random_buffers(c, random));
    emulator().set_counting(false);
    const std::vector<KernelCounters> all = emulator().take_counters();
    REQUIRE(all.size() == 1);
    const KernelCounters& counters = all.front();
    // Where a row has two chunks, lanes of four quarters share two accesses to entries.
    const bool shares = tile.block_k * size_of(tile.operands) < 64;
    CHECK(counters.main_loop_shared.excess() <= (shares ? 1.06 : 1));
    CHECK(counters.innermost[InstructionClass::LongDivision] == 0);
    CHECK(counters.operands[0].traffic.excess() <= 1.1);
  }
}

TEST_SUITE("full") {
  TEST_CASE("windows of random forms and images, on tiles of every kind") {
    std::mt19937_64 random(contraction_seed());
    choice::GpuTile few_threads = small_tensor_tile(DType::bf16);
    few_threads.block_m = few_threads.block_n = 16;
    few_threads.block_k = 64;
    choice::GpuTile many_rows = small_cuda_tile();
    many_rows.block_m = 128;
    many_rows.warp_m = 16;
    many_rows.block_n = 32;
    choice::GpuTile flat = small_cuda_tile();
    flat.thread_m = 1;
    flat.warp_m = flat.block_m = 4;
    flat.block_n = 256;
    for (const choice::GpuTile& tile :
         {small_cuda_tile(), many_rows, flat, small_tensor_tile(DType::bf16), few_threads,
          small_tensor_tile(DType::f32), small_tensor_tile(DType::i8)}) {
      for (int i = 0; i < dyn::testing::test_rounds(6, 2); ++i) {
        const std::array<std::int64_t, 2> taps{1 + static_cast<std::int64_t>(random() % 4),
                                               1 + static_cast<std::int64_t>(random() % 4)};
        MatmulCase c = form_of(tile, random() % 2 == 0 ? Copy::Vectors : Copy::Elements, taps);
        c.bias = random() % 2 == 0;
        if (!tile.integers()) c.output = random() % 2 == 0 ? DType::f32 : tile.operands;
        check_images(c, random, 4);
      }
    }
  }

  TEST_CASE("windows are products for every candidate of an A100") {
    std::mt19937_64 random(contraction_seed());
    dyn::testing::Sweep sweep(4);
    for (const choice::GpuTile& tile : candidate_tiles({DType::f32, DType::bf16, DType::i8}))
      for (const Copy copy : {Copy::Vectors, Copy::Elements})
        if (sweep.takes()) check_images(form_of(tile, copy, {3, 3}), random, 1);
  }
}

TEST_CASE("windows: what stands outside of a tensor of bytes is in the key of its copies") {
  rkernel::WindowRows rows;
  graph::DimTable dims;
  const graph::Dim one = dims.constant(1), extent = dims.constant(8);
  rows.axes.push_back({0, extent, dims.constant(3), one, one, one, extent, one});
  rows.channels = rows.channel_step = one;
  const std::string zero = window_layout(rows).key();
  rows.outside = 114;
  const std::string filled = window_layout(rows).key();
  rows.outside = 115;
  CHECK(filled != zero);
  CHECK(window_layout(rows).key() != filled);
}
