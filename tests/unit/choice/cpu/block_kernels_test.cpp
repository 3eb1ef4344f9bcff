// The papers' micro-kernels: which blocks there are, and how long one takes at any depth.

#include <doctest/doctest.h>

#include <algorithm>

#include "targets/cpu/measure/block_speeds.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::choice::BlockKernel;
using dyn::choice::Machine;

TEST_CASE("block kernels are few, distinct, made of the machine's tiles, and always the same") {
  std::mt19937_64 random(dyn::testing::test_seed(20261127));
  for (int i = 0; i < 12; ++i) {
    const Machine machine = dyn::testing::random_machine(
        random, std::array{1, 2, 5, 16}.at(static_cast<std::size_t>(i) % 4));
    const std::vector<BlockKernel> blocks = block_kernels(machine);
    CHECK(blocks.size() > 4);
    CHECK(blocks.size() <= 40);
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      const BlockKernel& block = blocks[j];
      CHECK(machine.find_tile(block.tile_rows, block.tile_columns) != nullptr);
      CHECK(block.tile_columns % machine.panel == 0);
      CHECK(block.rows % block.tile_rows == 0);
      CHECK(block.columns % block.tile_columns == 0);
      CHECK(std::find(blocks.begin() + static_cast<std::ptrdiff_t>(j) + 1, blocks.end(), block) ==
            blocks.end());
    }
    CHECK(block_kernels(machine) == blocks);
    // Few rows have blocks of their own: nothing is padded for them.
    CHECK(std::ranges::any_of(blocks, [](const BlockKernel& block) { return block.rows == 1; }));
  }
}

TEST_CASE(
    "seconds of a block are those that were measured, linear between and beyond, and never "
    "negative") {
  std::mt19937_64 random(dyn::testing::test_seed(20261128));
  std::uniform_real_distribution<double> seconds(1e-7, 1e-4);
  for (int i = 0; i < 100; ++i) {
    DepthSeconds measured;
    for (double& at : measured) at = seconds(random);
    if (i % 2 == 0) std::ranges::sort(measured);
    for (std::size_t j = 0; j < measured_depths.size(); ++j)
      CHECK(at_depth(measured, measured_depths[j]) ==
            dyn::testing::relative(measured[j]).epsilon(1e-12));
    for (std::size_t j = 0; j + 1 < measured_depths.size(); ++j) {
      const std::int64_t from = measured_depths[j], to = measured_depths[j + 1],
                         middle = (from + to) / 2;
      CHECK(at_depth(measured, middle) ==
            dyn::testing::relative((measured[j] + measured[j + 1]) / 2).epsilon(1e-12));
      CHECK(at_depth(measured, from + 1) ==
            dyn::testing::relative(measured[j] +
                                   (measured[j + 1] - measured[j]) / static_cast<double>(to - from))
                .epsilon(1e-12));
    }
    // Beyond the last one as between the last two, but not below 0.
    const double slope =
        (measured[4] - measured[3]) / static_cast<double>(measured_depths[4] - measured_depths[3]);
    CHECK(
        at_depth(measured, 100'000) ==
        dyn::testing::relative(
            std::max(0.0, measured[4] + slope * static_cast<double>(100'000 - measured_depths[4])))
            .epsilon(1e-9));
    for (const std::int64_t depth : {0, 1, 31, 5000, 1 << 30})
      CHECK(at_depth(measured, depth) >= 0);
  }
}
