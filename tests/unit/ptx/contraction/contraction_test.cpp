// Matrix products in the emulator, of all forms and sizes, against plain loops in double.

#include <doctest/doctest.h>

#include <set>

#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using dyn::choice::Engine;

namespace {

void align(const MatmulCase& c, std::int64_t inner, Copy copy, DType dtype, std::int64_t& slack) {
  const std::int64_t elements = elements_of_chunk(copy, dtype);
  if (elements == 1) return;
  slack = (elements - inner % elements) % elements + (c.m + c.n) % 2 * elements;
}

/// Slacks and an offset that allow copies of chunks where the form has them; odd ones elsewhere.
void place(MatmulCase& c, std::mt19937_64& random) {
  c.a_slack = static_cast<std::int64_t>(random() % 4);
  c.b_slack = static_cast<std::int64_t>(random() % 4);
  c.output_slack = static_cast<std::int64_t>(random() % 3);
  c.offset = static_cast<std::int64_t>(random() % 5);
  c.offset *= std::max(elements_of_chunk(c.a_copy, c.a), elements_of_chunk(c.b_copy, c.b));
  align(c, c.k, c.a_copy, c.a, c.a_slack);
  align(c, c.b_order == BOrder::RowsAlongK ? c.k : c.n, c.b_copy, c.b, c.b_slack);
}

void check(const EmulatedMatmul& matmul, const MatmulCase& c, std::mt19937_64& random) {
  const std::vector<Bytes> buffers = random_buffers(c, random);
  INFO(to_string(c));
  const Bytes output = matmul.run(c, buffers);
  for (const FaultReport& report : emulator().take_reports()) FAIL_CHECK(to_string(report));
  REQUIRE(worst_error(c, buffers, output) <= 1);
  const bool plain = !c.bias && !c.gelu && !c.residual && c.output == DType::f32;
  if (plain && c.tile.engine == Engine::CudaCores) CHECK(is_fma_loop(c, buffers, output));
}

/// Runs the form at sizes around its tile.
void check_sizes(MatmulCase c, std::mt19937_64& random, int sizes) {
  const EmulatedMatmul matmul(emulator(), c);
  const auto around = [&](int tile) {
    const std::int64_t choices[] = {1, 2, tile - 1, tile, tile + 1, 37, 2 * tile + 3};
    return choices[random() % std::size(choices)];
  };
  for (int i = 0; i < sizes; ++i) {
    c.m = around(c.tile.block_m);
    c.n = around(c.tile.block_n);
    c.k = i % 5 == 4 ? 0 : around(c.tile.block_k * (1 + i % 3));
    c.batch = c.batch_axes == 1   ? 1 + static_cast<std::int64_t>(random() % 3)
              : c.batch_axes == 2 ? 2 * (1 + i % 2)
                                  : 1;
    c.share_a = random() % 4 == 0;
    c.share_b = random() % 4 == 0;
    c.blocks = 1 + static_cast<int>(random() % 3);
    place(c, random);
    check(matmul, c, random);
  }
}

/// Draws a form by the seed, among all possible ones.
MatmulCase random_form(const dyn::choice::GpuTile& tile, std::mt19937_64& random) {
  const auto chance = [&](unsigned one_of) { return random() % one_of == 0; };
  MatmulCase c;
  c.tile = tile;
  c.a_copy = random_copy(tile, random);
  c.b_copy = random_copy(tile, random);
  if (tile.engine == Engine::TensorCores && chance(2)) c.b_order = BOrder::RowsAlongK;
  c.transpose_a = c.a_copy == Copy::Elements && chance(2);
  c.transpose_b = c.b_copy == Copy::Elements ? chance(2) : c.b_order == BOrder::RowsAlongK;
  c.transpose_output = chance(4);
  c.batch_axes = static_cast<int>(random() % 3);
  c.bias = chance(2);
  c.gelu = chance(2);
  c.residual = chance(2);
  draw_dtypes(c, random);
  return c;
}

}  // namespace

TEST_CASE("a matrix product on CUDA cores has the bits of a loop of fused multiply-adds") {
  std::mt19937_64 random(contraction_seed());
  MatmulCase c;
  c.tile = small_cuda_tile();
  check_sizes(c, random, 8);
}

TEST_CASE("a matrix product on tensor cores, with vectors through three stages, and its epilogue") {
  std::mt19937_64 random(contraction_seed());
  MatmulCase c;
  c.tile = small_tensor_tile(DType::bf16);
  c.a = c.b = DType::bf16;
  c.a_copy = c.b_copy = Copy::Vectors;
  c.bias = c.gelu = c.residual = true;
  check_sizes(c, random, 4);
}

TEST_CASE("a matrix product whose factors are copied by words of 4 bytes") {
  std::mt19937_64 random(contraction_seed());
  for (const DType dtype : {DType::f16, DType::bf16, DType::i8}) {
    for (const BOrder order : {BOrder::RowsAlongN, BOrder::RowsAlongK}) {
      MatmulCase c;
      c.tile = small_tensor_tile(dtype);
      c.a = c.b = dtype;
      if (dtype == DType::i8) c.a = DType::u8, c.output = DType::i32;
      c.a_copy = c.b_copy = Copy::Words;
      c.b_order = order;
      c.transpose_b = order == BOrder::RowsAlongK;
      c.bias = true;
      check_sizes(c, random, 5);
    }
  }
}

TEST_CASE("products of bytes on tensor cores are those of loops of integers") {
  std::mt19937_64 random(contraction_seed());
  for (int i = 0; i < 6; ++i) {
    MatmulCase c = random_form(small_tensor_tile(DType::i8), random);
    c.a = i % 2 == 0 ? DType::u8 : DType::i8;
    c.b = i % 3 == 0 ? DType::u8 : DType::i8;
    check_sizes(c, random, 4);
  }
}

TEST_CASE(
    "tickets go through all blocks of an output of many rows, on any number of blocks of the "
    "grid") {
  std::mt19937_64 random(contraction_seed());
  MatmulCase c;
  c.tile = small_cuda_tile();
  const EmulatedMatmul matmul(emulator(), c);
  c.n = 70;
  c.k = 19;
  for (const int rows_of_blocks : {7, 8, 9, 17}) {
    c.m = rows_of_blocks * c.tile.block_m - 5;
    c.batch = 1 + rows_of_blocks % 2;
    for (const int blocks : {1, 5, 120}) {
      c.blocks = blocks;
      check(matmul, c, random);
    }
  }
}

TEST_CASE("blocks store a tile's outputs, in bands, while the copies of their next one arrive") {
  std::mt19937_64 random(contraction_seed());
  dyn::choice::GpuTile low = small_tensor_tile(DType::bf16), deep = low, high = low;
  low.block_m = 16;
  deep.stages = 2;
  high.warp_m = 64;
  high.block_m = 128;
  high.block_n = 64;
  std::set<int> bands;
  for (const dyn::choice::GpuTile& tile :
       {overlapped(low), overlapped(deep), overlapped(high), overlapped(small_cuda_tile()),
        overlapped(small_tensor_tile(DType::f32)), overlapped(small_tensor_tile(DType::i8))}) {
    bands.insert(tile.output_bands());
    for (const BOrder order : {BOrder::RowsAlongN, BOrder::RowsAlongK}) {
      if (order == BOrder::RowsAlongK && tile.engine == Engine::CudaCores) continue;
      MatmulCase c;
      c.tile = tile;
      c.a = c.b = tile.operands;
      c.a_copy = c.b_copy = Copy::Vectors;
      c.b_order = order;
      c.transpose_b = order == BOrder::RowsAlongK;
      c.bias = true;
      if (tile.integers()) c.output = DType::i32;
      check_sizes(c, random, 5);
    }
  }
  CHECK(bands == std::set<int>{1, 2, 4});
}

TEST_CASE("outputs are stored in vectors where all rows begin with one, else one by one") {
  std::mt19937_64 random(contraction_seed());
  for (const choice::GpuTile& tile : {small_cuda_tile(), small_tensor_tile(DType::bf16)}) {
    for (const DType output : {DType::f32, DType::bf16, DType::f16}) {
      MatmulCase c;
      c.tile = tile;
      c.output = output;
      c.bias = c.gelu = c.residual = true;
      c.k = 29;
      const EmulatedMatmul matmul(emulator(), c);
      for (const std::int64_t slack : {0, 1, 2, 4}) {
        c.output_slack = slack;
        c.n = slack == 0 ? 68 : 40;
        c.m = 30 + slack;
        check(matmul, c, random);
      }
    }
  }
}

TEST_SUITE("full") {
  TEST_CASE("matrix products of every engine, dtype, copy, order and epilogue") {
    std::mt19937_64 random(contraction_seed());
    dyn::choice::GpuTile deep = small_cuda_tile(), wide = small_cuda_tile(),
                         narrow = small_cuda_tile();
    deep.stages = 4;
    wide.thread_m = wide.thread_n = 8;
    wide.warp_m = 32;
    wide.warp_n = 64;
    wide.block_m = 64;
    wide.block_n = 64;
    wide.block_k = 16;
    narrow.thread_m = 1;
    narrow.thread_n = 2;
    narrow.warp_m = 4;
    narrow.warp_n = 16;
    narrow.block_m = 8;
    narrow.block_n = 48;
    dyn::choice::GpuTile two_stages = small_tensor_tile(DType::bf16);
    two_stages.stages = 2;
    for (const dyn::choice::GpuTile& tile :
         {small_cuda_tile(), deep, wide, narrow, small_tensor_tile(DType::bf16),
          small_tensor_tile(DType::f16), small_tensor_tile(DType::f32),
          small_tensor_tile(DType::i8), two_stages, overlapped(small_cuda_tile()),
          overlapped(small_tensor_tile(DType::f16))}) {
      for (int i = 0; i < dyn::testing::test_rounds(12, 3); ++i)
        check_sizes(random_form(tile, random), random, 6);
    }
  }

  TEST_CASE("every candidate of an A100 multiplies, with its moves as vectors and as elements") {
    std::mt19937_64 random(contraction_seed());
    for (const dyn::choice::GpuTile& tile : candidate_tiles({DType::f32, DType::bf16})) {
      MatmulCase c;
      c.tile = tile;
      c.residual = true;
      c.transpose_a = c.transpose_b = true;
      check_sizes(c, random, 1);
      c.transpose_a = c.transpose_b = false;
      c.a = c.b = tile.operands;
      c.a_copy = c.b_copy = Copy::Vectors;
      check_sizes(c, random, 1);
      if (tile.engine == Engine::CudaCores) continue;
      c.transpose_b = true;
      c.b_order = BOrder::RowsAlongK;
      check_sizes(c, random, 1);
    }
  }

  TEST_CASE("every candidate of bytes multiplies, in random forms, in any order of blocks") {
    std::mt19937_64 random(contraction_seed());
    for (const dyn::choice::GpuTile& tile : candidate_tiles({DType::i8})) {
      for (int i = 0; i < 3; ++i) {
        MatmulCase c = random_form(tile, random);
        c.b_order = i == 0 ? BOrder::RowsAlongN : BOrder::RowsAlongK;
        c.transpose_b = c.b_copy == Copy::Elements ? c.transpose_b : i > 0;
        emulator().set_block_order(
            {i == 2 ? BlockOrder::Kind::Descending : BlockOrder::Kind::Ascending, 0});
        check_sizes(c, random, 2);
      }
      emulator().set_block_order({});
    }
  }
}
