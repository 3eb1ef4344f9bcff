// Programs of two regions in one launch, in the emulator, against plain loops in double.

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

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
    "tiles whose blocks have unequal threads are no pair, nor are rings that do not fit their "
    "barriers") {
  dyn::choice::GpuTile large = small_cuda_tile();
  large.block_m *= 2;
  dyn::choice::GpuTile deep = small_tensor_tile(DType::bf16);
  deep.stages = 5;
  for (const MatmulCase& c :
       {pair_of(small_cuda_tile(), large, Copy::Elements), pair_of(deep, deep, Copy::Elements)}) {
    const BuiltMatmul built = build(c);
    llvm::LLVMContext context;
    CHECK_THROWS_AS(emit_device_module(context, source_of(built), "matmul"), Error);
  }
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
