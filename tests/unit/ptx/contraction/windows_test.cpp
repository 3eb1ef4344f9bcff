// Products of windows in the emulator: convolutions as implicit matrices, against plain loops in
// double.

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
using dyn::choice::Engine;

namespace {

choice::GpuTile with_table(choice::GpuTile tile) {
  MatmulCase c;
  c.tile = tile;
  set_windows(c, {});
  return with_windows(tile, build(c).problem);
}

/// Taps are a part of the form; all else is drawn.
WindowImages random_images(const MatmulCase& form, std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  WindowImages images{.images = draw(1, 3), .height = draw(1, 9), .width = draw(1, 11)};
  images.size = form.windows->size;
  images.outside = form.windows->outside;
  const std::int64_t chunk = elements_of_chunk(form.a_copy, form.a);
  images.channels = chunk > 1 ? chunk * draw(1, 5) : draw(1, 21);
  images.slack = chunk > 1 ? chunk * draw(0, 1) : draw(0, 3);
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

/// Of a form with strips: taps, strides and channels are its own.
WindowImages random_strips(const MatmulCase& form, std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  WindowImages images = *form.windows;
  images.images = draw(1, 3);
  images.height = draw(1, 9);
  images.width = 4 * draw(4 * images.stride[1] + 2, 10 * images.stride[1]);
  for (const std::size_t i : {0U, 1U}) {
    images.before[i] = draw(0, 3);
    const std::int64_t extent = i == 0 ? images.height : images.width;
    images.after[i] =
        std::max<std::int64_t>(0, images.size[i] - extent - images.before[i]) + draw(0, 2);
  }
  return images;
}

/// Of a form whose windows are inside: taps, strides and channels are its own.
WindowImages random_insides(const MatmulCase& form, std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  WindowImages images = *form.windows;
  const std::int64_t chunk = elements_of_chunk(form.a_copy, form.a);
  images.images = draw(1, 3);
  images.height = images.size[0] + draw(0, 9);
  images.width = round_up(images.size[1], chunk) + chunk * draw(0, 40 / chunk);
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
    const bool strips = c.a_copy == Copy::Strips;
    set_windows(c, strips              ? random_strips(c, random)
                   : c.windows->inside ? random_insides(c, random)
                                       : random_images(c, random));
    c.n = 1 + static_cast<std::int64_t>(random() % 70);
    const std::int64_t chunk = elements_of_chunk(c.b_copy, c.b);
    c.b_slack = chunk > 1 ? chunk - c.n % chunk : static_cast<std::int64_t>(i % 3);
    c.offset = chunk > 1 || elements_of_chunk(c.a_copy, c.a) > 1 ? 16 : i % 4;
    c.blocks = 1 + static_cast<int>(random() % 3);
    check_windows(matmul, c, random);
  }
}

MatmulCase form_of(const choice::GpuTile& tile, Copy copy, std::array<std::int64_t, 2> taps) {
  MatmulCase c;
  c.tile = with_table(tile);
  c.a = c.b = copy != Copy::Elements || tile.integers() ? tile.operands : DType::f32;
  c.a_copy = c.b_copy = copy;
  set_windows(c, {.size = taps});
  if (tile.integers()) {
    c.output = DType::i32;
    c.a = DType::u8;
  }
  return c;
}

KernelCounters window_counters(const MatmulCase& c) {
  std::mt19937_64 random(contraction_seed());
  const EmulatedMatmul matmul(emulator(), c);
  emulator().set_counting(true);
  matmul.run(c, random_buffers(c, random));
  emulator().set_counting(false);
  const std::vector<KernelCounters> all = emulator().take_counters();
  REQUIRE(all.size() == 1);
  return all.front();
}

/// Windows of three channels without padding.
WindowImages inside(std::array<std::int64_t, 2> size, std::array<std::int64_t, 2> stride) {
  return {.height = size[0],
          .width = size[1],
          .channels = 3,
          .size = size,
          .stride = stride,
          .before = {0, 0},
          .after = {0, 0},
          .inside = true};
}

/// Windows of few channels, from strips.
MatmulCase strip_form(choice::GpuTile tile, DType source, const WindowImages& images) {
  MatmulCase c;
  tile.block_k = std::max(tile.block_k, choice::warp_lanes);
  c.tile = tile;
  c.a = source;
  c.b = tile.operands;
  c.a_copy = Copy::Strips;
  c.b_copy = Copy::Vectors;
  set_windows(c, images);
  const BuiltMatmul built = build(c);
  c.tile = with_windows(tile, built.problem);
  REQUIRE(c.tile.strip_bytes > 0);
  if (tile.integers()) c.output = DType::i32;
  return c;
}

}  // namespace

TEST_CASE("windows: products on CUDA cores have the bits of a loop of fused multiply-adds") {
  std::mt19937_64 random(contraction_seed());
  for (const Copy copy : {Copy::Vectors, Copy::Elements})
    for (const std::array<std::int64_t, 2> taps : {std::array<std::int64_t, 2>{3, 3}, {1, 5}})
      check_images(form_of(small_cuda_tile(), copy, taps), random, 6);
}

TEST_CASE("windows: products on tensor cores, from copies of each kind") {
  std::mt19937_64 random(contraction_seed());
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const Copy copy : {Copy::Vectors, Copy::Words, Copy::Elements}) {
      if (copy == Copy::Words && dtype == DType::f32) continue;
      MatmulCase c = form_of(small_tensor_tile(dtype), copy, {3, 2});
      c.bias = c.gelu = true;
      check_images(c, random, 4);
    }
  check_images(form_of(overlapped(small_tensor_tile(DType::bf16)), Copy::Vectors, {3, 2}), random,
               6);
}

TEST_CASE("windows: products of bytes, whose zero point stands outside of the tensor") {
  std::mt19937_64 random(contraction_seed());
  for (const Copy copy : {Copy::Vectors, Copy::Words, Copy::Elements}) {
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

TEST_CASE("windows of few channels: products from strips, of every dtype") {
  std::mt19937_64 random(contraction_seed());
  const WindowImages small{.channels = 3, .stride = {2, 2}},
      wide{.channels = 3, .size = {7, 7}, .stride = {2, 2}},
      odd{.channels = 1, .size = {4, 5}, .stride = {1, 3}},
      apart{.channels = 5, .size = {2, 3}, .stride = {2, 3}};
  check_images(strip_form(small_cuda_tile(), DType::f32, small), random, 4);
  check_images(strip_form(small_cuda_tile(), DType::f16, odd), random, 3);
  check_images(strip_form(small_tensor_tile(DType::bf16), DType::bf16, wide), random, 3);
  check_images(strip_form(small_tensor_tile(DType::f16), DType::f32, apart), random, 3);
  check_images(strip_form(small_tensor_tile(DType::f32), DType::f32, small), random, 3);
  for (const std::int64_t outside : {0, 114}) {
    MatmulCase c = strip_form(small_tensor_tile(DType::i8), DType::u8, small);
    c.windows->outside = outside;
    check_images(c, random, 3);
  }
}

TEST_CASE("windows inside of the tensor are copied in runs of taps and channels") {
  std::mt19937_64 random(contraction_seed());
  const auto check = [&](const choice::GpuTile& tile, Copy copy, const WindowImages& images) {
    MatmulCase c = form_of(tile, copy, images.size);
    set_windows(c, images);
    const BuiltMatmul built = build(c);
    REQUIRE(window_layout(*built.problem.operands.front().window).in_runs);
    check_images(c, random, 4);
  };
  check(small_cuda_tile(), Copy::Vectors, inside({4, 4}, {4, 4}));
  check(small_cuda_tile(), Copy::Vectors, inside({3, 8}, {1, 4}));
  check(small_cuda_tile(), Copy::Elements, inside({3, 5}, {2, 2}));
  check(small_tensor_tile(DType::bf16), Copy::Vectors, inside({2, 8}, {3, 8}));
  check(small_tensor_tile(DType::f16), Copy::Words, inside({3, 6}, {1, 2}));
  check(small_tensor_tile(DType::f32), Copy::Vectors, inside({1, 4}, {2, 8}));
  check(small_tensor_tile(DType::i8), Copy::Vectors, inside({2, 16}, {2, 16}));
  check(small_tensor_tile(DType::i8), Copy::Words, inside({2, 4}, {1, 4}));
}

TEST_CASE("patches of few channels are copied in vectors, and read no sector in vain") {
  for (const choice::GpuTile& tile :
       {small_cuda_tile(), small_tensor_tile(DType::bf16), small_tensor_tile(DType::i8)}) {
    MatmulCase c = form_of(tile, Copy::Vectors, {16, 16});
    WindowImages patches = inside({16, 16}, {16, 16});
    patches.height = patches.width = 64;
    set_windows(c, patches);
    c.n = c.tile.block_n;
    c.b_slack = 0;
    c.blocks = 1;
    INFO(to_string(c));
    const KernelCounters counters = window_counters(c);
    CHECK(counters.innermost[InstructionClass::LongDivision] == 0);
    // A run of 48 bytes lies in two sectors of 32.
    const double most = tile.integers() ? 64.0 / 48 : 1.1;
    CHECK(counters.operands[0].traffic.excess() <= most + 1e-9);
  }
}

TEST_CASE("windows of few channels read whole sectors, and meet no bank twice") {
  const WindowImages mobile{.height = 9, .width = 64, .channels = 3, .stride = {2, 2}},
      residual{.height = 9,
               .width = 64,
               .channels = 3,
               .size = {7, 7},
               .stride = {2, 2},
               .before = {3, 3},
               .after = {3, 3}};
  for (const WindowImages& images : {mobile, residual}) {
    for (const auto& [tile, source] : {std::pair(small_cuda_tile(), DType::f32),
                                       {small_tensor_tile(DType::bf16), DType::bf16},
                                       {small_tensor_tile(DType::bf16), DType::f32},
                                       {small_tensor_tile(DType::i8), DType::u8}}) {
      MatmulCase c = strip_form(tile, source, images);
      c.n = c.tile.block_n;
      c.b_slack = 0;
      const KernelCounters counters = window_counters(c);
      INFO(to_string(c));
      CHECK(counters.main_loop_shared.excess() <= 1);
      CHECK(counters.operands[0].traffic.excess() <= 1.1);
      CHECK(counters.innermost[InstructionClass::LongDivision] == 0);
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
    const KernelCounters counters = window_counters(c);
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
