// Products of tensor-core leaves in the emulator, against double loops over the operands as mma
// sees them.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "tests/support/half.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/tile/tensor_core_kernel.hpp"

using namespace dyn;
using namespace dyn::test;
using dyn::choice::GpuTile;
using ptx::BOrder;
using rkernel::DeviceAddress;
using rkernel::DeviceBlock;

namespace {

std::mt19937& random_engine() {
  static std::mt19937 engine(static_cast<unsigned>(dyn::testing::test_seed()));
  return engine;
}

/// Elements as they lie in memory, and as mma multiplies them.
struct Elements {
  std::vector<std::byte> bytes;
  std::vector<double> values;
};

Elements random_bytes(DType dtype, std::size_t count) {
  Elements elements;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(random_engine()());
    elements.bytes.push_back(std::byte{byte});
    elements.values.push_back(dtype == DType::i8 ? static_cast<std::int8_t>(byte) : byte);
  }
  return elements;
}

Elements random_elements(DType dtype, std::size_t count) {
  if (size_of(dtype) == 1) return random_bytes(dtype, count);
  std::normal_distribution<float> normal(0.3f, 1.0f);  // no mirror image is 0 by symmetry
  Elements elements;
  elements.bytes.resize(count * size_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const float value = normal(random_engine());
    std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if (dtype != DType::f32) bits = dyn::testing::half_bits(dtype, value);
    std::memcpy(elements.bytes.data() + i * size_of(dtype), &bits, size_of(dtype));
    constexpr std::uint32_t tf32_bits = 0xffffe000u;
    elements.values.push_back(
        dtype == DType::f32 ? std::bit_cast<float>(bits & tf32_bits)
                            : dyn::testing::half_value(dtype, static_cast<std::uint16_t>(bits)));
  }
  return elements;
}

struct Outcome {
  std::vector<float> c;
  std::vector<std::int32_t> places;
  std::int64_t mmas = 0;
};

/// Runs the kernel once; fails the test on any report of the emulator.
Outcome run(ptx::Emulator& emulator, const GpuTile& tile, BOrder order, int blocks_k,
            const Elements& a, const Elements& b) {
  llvm::LLVMContext context;
  const auto module = tensor_core_kernel(context, tile, order, blocks_k);
  const ptx::KernelShape shape = ptx::kernel_shape(*module);
  const std::size_t outputs = static_cast<std::size_t>(tile.block_m * tile.block_n);
  Outcome outcome{std::vector<float>(outputs), std::vector<std::int32_t>(outputs)};
  const std::size_t sizes[] = {a.bytes.size(), b.bytes.size(), outputs * sizeof(float),
                               outputs * sizeof(std::int32_t)};
  std::vector<DeviceBlock> blocks;
  std::vector<rkernel::OperandRange> ranges;
  std::vector<DeviceAddress> pointers;
  for (const std::size_t size : sizes) {
    blocks.emplace_back(emulator, size, "operand");
    ranges.push_back({blocks.back().address(), size, ranges.size() >= 2});
    pointers.push_back(blocks.back().address());
  }
  const DeviceBlock table(emulator, sizeof(DeviceAddress) * pointers.size(), "pointers"),
      ints(emulator, 8, "ints"), status(emulator, 4, "status");
  const std::int64_t before = emulator.counts().mmas;
  const auto stream = emulator.make_stream();
  stream->upload(blocks[0].address(), a.bytes.data(), a.bytes.size());
  stream->upload(blocks[1].address(), b.bytes.data(), b.bytes.size());
  stream->upload(table.address(), pointers.data(), sizeof(DeviceAddress) * pointers.size());
  stream->clear(status.address(), 4);
  stream->launch({.function = emulator.load_module(*module),
                  .name = "product",
                  .blocks = 1,
                  .threads = shape.threads,
                  .shared_bytes = shape.shared_bytes,
                  .pointers = table.address(),
                  .ints = ints.address(),
                  .status = status.address(),
                  .operands = ranges});
  stream->download(outcome.c.data(), blocks[2].address(), sizes[2]);
  stream->download(outcome.places.data(), blocks[3].address(), sizes[3]);
  CHECK_NOTHROW(stream->synchronise());
  for (const ptx::FaultReport& report : emulator.take_reports()) FAIL_CHECK(to_string(report));
  outcome.mmas = emulator.counts().mmas - before;
  return outcome;
}

/// Every output of the block belongs to one accumulator.
void check_places(const GpuTile& tile, const Outcome& outcome) {
  std::vector<std::int32_t> places = outcome.places, all(places.size());
  std::sort(places.begin(), places.end());
  std::iota(all.begin(), all.end(), 0);
  CHECK(places == all);
  CHECK(places.size() == static_cast<std::size_t>(tile.block_m * tile.block_n));
}

void check_product(const GpuTile& tile, BOrder order, int k_extent, const Elements& a,
                   const Elements& b, const Outcome& outcome) {
  constexpr double unit = 1.2e-7,
                   rounding = 2;  // of f32; each step of K adds with at most two roundings
  const auto index = [](int row, int column, int columns) {
    return static_cast<std::size_t>(row * columns + column);
  };
  double worst = 0;
  for (int m = 0; m < tile.block_m; ++m) {
    for (int n = 0; n < tile.block_n; ++n) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < k_extent; ++k) {
        const double left = a.values[index(m, k, k_extent)];
        const double right = b.values[order == BOrder::RowsAlongN ? index(k, n, tile.block_n)
                                                                  : index(n, k, k_extent)];
        sum += left * right;
        magnitude += std::abs(left * right);
      }
      const float element = outcome.c[index(m, n, tile.block_n)];
      if (tile.integers()) {
        REQUIRE(std::bit_cast<std::int32_t>(element) == sum);
        continue;
      }
      const double error = std::abs(element - sum);
      worst = std::max(worst, std::isnan(error) ? INFINITY : error / magnitude);
    }
  }
  CHECK(worst < rounding * unit * k_extent);
}

void check(const std::vector<GpuTile>& tiles) {
  const auto emulator =
      ptx::make_emulator({.machine = ptx::described_gpu("a100"), .cache_dir = {}});
  for (const GpuTile& tile : tiles) {
    for (const BOrder order : b_orders) {
      INFO(name_of(tile, order));
      constexpr int blocks_k = 3;
      const int k_extent = tile.block_k * blocks_k,
                step = 32 / static_cast<int>(size_of(tile.operands));
      const Elements a =
          random_elements(left_factor(tile), static_cast<std::size_t>(tile.block_m * k_extent));
      const Elements b =
          random_elements(tile.operands, static_cast<std::size_t>(tile.block_n * k_extent));
      const Outcome outcome = run(*emulator, tile, order, blocks_k, a, b);
      check_places(tile, outcome);
      check_product(tile, order, k_extent, a, b, outcome);
      CHECK(outcome.mmas == tile.block_m * tile.block_n / (16 * 8) * (k_extent / step));
    }
  }
}

}  // namespace

TEST_CASE("tensor cores: products of small blocks in the emulator are those of double loops") {
  std::vector<GpuTile> tiles = tensor_core_tiles();
  std::erase_if(tiles, [](const GpuTile& tile) { return tile.block_m * tile.block_n > 64 * 64; });
  CHECK(tiles.size() == 28);
  check(tiles);
}

TEST_SUITE("full") {
  TEST_CASE("tensor cores: products in the emulator are those of double loops") {
    check(tensor_core_tiles());
  }
}
