// The blocks that policies without a space of their own combine.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "src/choice/policies/shared/block_kernels.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using dyn::choice::BlockKernel;
using dyn::choice::Machine;

namespace {

/// A tile of one row takes much less time than any higher one.
bool padding_costs(const Machine& machine) {
  double one = std::numeric_limits<double>::infinity(), more = one;
  for (const dyn::choice::TileSpeed& tile : machine.tiles) {
    double& least = tile.rows == 1 ? one : more;
    least = std::min(least, tile.seconds_per_k);
  }
  return one < 0.7 * more;
}

}  // namespace

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
    // Few rows have blocks of their own where padding costs: nothing is padded for them.
    if (padding_costs(machine))
      CHECK(std::ranges::any_of(blocks, [](const BlockKernel& block) { return block.rows == 1; }));
  }
}
