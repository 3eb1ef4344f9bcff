// Programs of two regions in one launch, in the emulator, against plain loops in double.

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using dyn::choice::Engine;

namespace {

/// Columns of a region begin at a multiple of it.
constexpr std::int64_t column_unit = 16;

dyn::choice::GpuTile low(dyn::choice::GpuTile tile) {
  tile.block_m = 16;
  tile.block_n = 64;
  return tile;
}

/// A cut along either axis, at an end or between, with the first tile on either side.
OutputRange random_range(const MatmulCase& c, std::mt19937_64& random) {
  OutputRange range{0, c.m, 0, c.n};
  const bool rows = random() % 2 == 0, after = random() % 2 == 0;
  const auto below = [&](std::int64_t extent) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent + 1));
  };
  const std::int64_t cut = rows ? below(c.m) : below(c.n / column_unit) * column_unit;
  if (rows)
    (after ? range.m : range.m_end) = cut;
  else
    (after ? range.n : range.n_end) = cut;
  return range;
}

/// Rows begin at multiples of 16 bytes where copies are vectors.
void place_rows(MatmulCase& c) {
  const auto slack = [](std::int64_t inner, DType dtype) {
    const auto elements = static_cast<std::int64_t>(16 / size_of(dtype));
    return (elements - inner % elements) % elements;
  };
  c.a_slack = c.a_copy == Copy::Vectors ? slack(c.k, c.a) : 1;
  c.b_slack =
      c.b_copy == Copy::Vectors ? slack(c.b_order == BOrder::RowsAlongK ? c.k : c.n, c.b) : 3;
}

/// The first tile's case, or the second's, on the whole output.
MatmulCase alone(MatmulCase c, bool second) {
  if (second) {
    c.tile = *c.second;
    if (c.second_copies) {
      c.a_copy = c.b_copy = *c.second_copies;
      c.b_order = BOrder::RowsAlongN;
    }
  }
  c.second.reset();
  c.second_copies.reset();
  return c;
}

/// Each region has the bits that its tile gives alone: an output has one accumulator, K in order.
void check_bits(MatmulCase c, std::mt19937_64& random, int sizes) {
  c.residual = c.in_place = true;
  const EmulatedMatmul both(emulator(), c), first(emulator(), alone(c, false)),
      second(emulator(), alone(c, true));
  const auto below = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < sizes; ++i) {
    c.m = below(3 * std::max(c.tile.block_m, c.second->block_m));
    c.n = column_unit + below(3 * std::max(c.tile.block_n, c.second->block_n));
    c.k = below(4 * c.tile.block_k);
    c.blocks = static_cast<int>(below(5));
    c.first = random_range(c, random);
    place_rows(c);
    const std::vector<Bytes> buffers = random_buffers(c, random);
    INFO(to_string(c));
    const Bytes output = both.run(c, buffers);
    REQUIRE(worst_error(c, buffers, output) <= 1);
    const Bytes of_first = first.run(alone(c, false), buffers),
                of_second = second.run(alone(c, true), buffers);
    for (const FaultReport& report : emulator().take_reports()) FAIL_CHECK(to_string(report));
    const MatrixLayout layout = output_layout(c);
    std::size_t wrong = 0;
    for (std::int64_t row = 0; row < c.m; ++row) {
      for (std::int64_t column = 0; column < c.n; ++column) {
        const auto at = static_cast<std::size_t>(layout.offset + row * layout.row_stride +
                                                 column * layout.column_stride);
        const bool in_first = row >= c.first.m && row < c.first.m_end && column >= c.first.n &&
                              column < c.first.n_end;
        const Bytes& expected = in_first ? of_first : of_second;
        const std::size_t bytes = size_of(c.output);
        wrong += std::memcmp(&output[at * bytes], &expected[at * bytes], bytes) != 0;
      }
    }
    CHECK(wrong == 0);
  }
}

void check_pair_sizes(MatmulCase c, std::mt19937_64& random, int sizes) {
  c.residual = c.in_place = true;
  const EmulatedMatmul matmul(emulator(), c);
  const auto below = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < sizes; ++i) {
    c.m = below(3 * c.tile.block_m);
    c.n = below(3 * c.tile.block_n);
    c.k = i % 7 == 6 ? 0 : below(4 * c.tile.block_k);
    c.batch = 1 + i % 2;
    c.blocks = static_cast<int>(below(9));
    c.first = random_range(c, random);
    place_rows(c);
    const std::vector<Bytes> buffers = random_buffers(c, random);
    INFO(to_string(c));
    const Bytes output = matmul.run(c, buffers);
    for (const FaultReport& report : emulator().take_reports()) FAIL_CHECK(to_string(report));
    REQUIRE(worst_error(c, buffers, output) <= 1);
  }
}

MatmulCase pair_of(const dyn::choice::GpuTile& first, const dyn::choice::GpuTile& second,
                   Copy copy) {
  MatmulCase c;
  c.tile = first;
  c.second = second;
  c.a_copy = c.b_copy = copy;
  if (copy == Copy::Vectors) c.a = c.b = first.operands;
  return c;
}

}  // namespace

TEST_CASE(
    "two regions of unequal tiles store every output once, wherever the cut is and however many "
    "blocks there are") {
  std::mt19937_64 random(contraction_seed());
  for (const dyn::choice::GpuTile& tile : {small_cuda_tile(), small_tensor_tile(DType::bf16)}) {
    check_pair_sizes(pair_of(overlapped(tile), overlapped(low(tile)), Copy::Vectors), random, 6);
    for (const Copy copy : {Copy::Vectors, Copy::Elements}) {
      check_pair_sizes(pair_of(tile, low(tile), copy), random, 8);
      check_pair_sizes(pair_of(low(tile), tile, copy), random, 4);
    }
  }
}

TEST_CASE("rings of unequal length have barriers of their own") {
  std::mt19937_64 random(contraction_seed());
  dyn::choice::GpuTile two = small_tensor_tile(DType::bf16), four = low(two);
  two.stages = 2;
  four.stages = 4;
  check_pair_sizes(pair_of(two, four, Copy::Vectors), random, 4);
  check_pair_sizes(pair_of(four, two, Copy::Elements), random, 4);
}

TEST_CASE(
    "tiles of unequal threads compute their regions as each would alone, to the bit, whichever "
    "comes first") {
  std::mt19937_64 random(contraction_seed());
  for (const dyn::choice::GpuTile& tile : {small_cuda_tile(), small_tensor_tile(DType::bf16)}) {
    dyn::choice::GpuTile large = low(tile), single = tile;
    large.block_m = 4 * tile.warp_m;
    single.block_m = tile.warp_m;
    single.block_n = tile.warp_n;
    REQUIRE(single.threads() == 32);
    for (const Copy copy : {Copy::Vectors, Copy::Elements}) {
      for (const auto& [first, second] :
           {std::pair(large, tile), std::pair(tile, large), std::pair(single, large)}) {
        REQUIRE(first.threads() != second.threads());
        check_bits(pair_of(first, second, copy), random, 3);
      }
    }
  }
}

TEST_CASE("a region of tensor cores and one of CUDA cores, each with copies of its own") {
  std::mt19937_64 random(contraction_seed());
  const dyn::choice::GpuTile cuda = small_cuda_tile();
  for (const bool along_k : {false, true}) {
    MatmulCase c = pair_of(small_tensor_tile(DType::bf16), cuda, Copy::Vectors);
    REQUIRE(c.tile.threads() != cuda.threads());
    c.second_copies = Copy::Elements;
    c.transpose_b = along_k;
    if (along_k) c.b_order = BOrder::RowsAlongK;
    check_bits(c, random, 3);
  }
}

TEST_CASE("rings that do not fit their barriers are no pair") {
  dyn::choice::GpuTile deep = small_tensor_tile(DType::bf16);
  deep.stages = 5;
  const BuiltMatmul built = build(pair_of(deep, deep, Copy::Elements));
  llvm::LLVMContext context;
  CHECK_THROWS_AS(emit_device_module(context, source_of(built), "matmul"), Error);
}

TEST_SUITE("full") {
  TEST_CASE(
      "every pair of the described GPUs multiplies, with its moves as vectors and as elements") {
    std::mt19937_64 random(contraction_seed());
    dyn::testing::Sweep sweep(12);
    for (const char* gpu : {"a100", "h200"}) {
      for (const auto& [first, second] : candidate_pairs(gpu, {DType::f32, DType::bf16})) {
        if (!sweep.takes()) continue;
        for (const Copy copy : {Copy::Vectors, Copy::Elements})
          check_pair_sizes(pair_of(first, second, copy), random, 2);
        if (first.engine == Engine::CudaCores) continue;
        MatmulCase c = pair_of(first, second, Copy::Vectors);
        c.transpose_b = true;
        c.b_order = BOrder::RowsAlongK;
        check_pair_sizes(c, random, 2);
      }
    }
  }
}
