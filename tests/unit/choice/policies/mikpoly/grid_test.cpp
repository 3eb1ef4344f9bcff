// MikPoly's micro-kernels on a CPU: the grid, its ranking, and how deep each is timed.

#include "src/choice/policies/mikpoly/grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;

TEST_CASE("mikpoly's grid has every multiple of 16 that L2 holds, in whole panels") {
  const Machine machine = dyn::testing::round_machine();  // panels of 32, 1 MiB of L2
  const std::vector<BlockKernel> grid = mikpoly_grid(machine);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> extents;
  for (const BlockKernel& block : grid) {
    extents.emplace(block.rows, block.columns, block.depth);
    CHECK(machine.find_tile(block.tile_rows, block.tile_columns) != nullptr);
    CHECK(block.columns % block.tile_columns == 0);
  }
  CHECK(extents.size() == grid.size());
  std::size_t wanted = 0;
  for (int m = 16; m <= 512; m += 16) {
    for (int n = 32; n <= 512; n += 32) {
      for (int k = 16; k <= 512; k += 16) {
        if ((m + n) * k + m * n > 262144) continue;
        ++wanted;
        if (!extents.contains({m, n, k})) CHECK_MESSAGE(false, m << " x " << n << " x " << k);
      }
    }
  }
  CHECK(grid.size() == wanted);
  // 16 rows are two tiles of 8, at 8 ns a step; two of 14 would take 28. Two panels are two columns
  // of tiles, or one of tiles of 64 columns, of at most 5 rows: four at 8 or 10 ns.
  const auto block = std::ranges::find_if(grid, [](const BlockKernel& one) {
    return one.rows == 16 && one.columns == 32 && one.depth == 64;
  });
  REQUIRE(block != grid.end());
  CHECK(block->tile_rows == 8);
  CHECK(block->tile_columns == 32);
}

TEST_CASE("mikpoly keeps the kernels of the most mean throughput over powers of two") {
  const std::uint64_t seed = dyn::testing::test_seed(20261201);
  std::mt19937_64 random(seed);
  for (const int threads : {1, 3, 16}) {
    const Machine machine = dyn::testing::random_machine(random, threads);
    const MikPolyParameters few{.n_gen = 4, .n_syn = 6, .n_mik = 5};
    const std::vector<BlockKernel> grid = mikpoly_grid(machine, few);
    REQUIRE(grid.size() > few.n_mik);
    const auto mean = [&](const BlockKernel& block) {
      double sum = 0;
      for (int i = 0; i <= 6; ++i) {
        for (int j = 0; j <= 6; ++j) {
          for (int l = 0; l <= 6; ++l) {
            const double m = 1 << i, n = 1 << j, k = 1 << l;
            const double tasks = std::ceil(m / static_cast<double>(block.rows)) *
                                 std::ceil(n / static_cast<double>(block.columns));
            const double steps = std::ceil(k / static_cast<double>(block.depth));
            const double seconds =
                std::ceil(tasks / threads) *
                predicted_seconds(machine, block, static_cast<std::int64_t>(steps) * block.depth,
                                  {}, 1);
            sum += m * n * k / seconds;
          }
        }
      }
      return sum;
    };
    const std::vector<BlockPlan> kept = mikpoly_blocks(machine, few);
    REQUIRE(kept.size() == few.n_mik);
    double least = std::numeric_limits<double>::infinity();
    for (const BlockPlan& plan : kept) {
      CHECK(mean(plan.block) <= least * (1 + 1e-9));
      least = mean(plan.block);
    }
    const auto better = std::ranges::count_if(
        grid, [&](const BlockKernel& block) { return mean(block) > least * (1 + 1e-9); });
    CHECK(better <= static_cast<std::ptrdiff_t>(few.n_mik) - 1);
  }
}

TEST_CASE("mikpoly times tasks of 1 to 5120 instances, as long as runs and operands are small") {
  const Machine machine = dyn::testing::round_machine();
  const std::vector<BlockPlan> plans = mikpoly_blocks(machine);
  CHECK(plans.size() == 40);
  for (const BlockPlan& plan : plans) {
    CHECK_FALSE(plan.together);
    REQUIRE(plan.depths.size() >= 2);
    CHECK(plan.depths[0] == plan.block.depth);
    CHECK(std::ranges::is_sorted(plan.depths));
    CHECK(plan.depths.back() <= 5120 * plan.block.depth);
    for (const std::int64_t depth : plan.depths) CHECK(depth % plan.block.depth == 0);
    if (plan.depths.size() > 2) {
      CHECK(predicted_seconds(machine, plan.block, plan.depths.back(), {}, 1) <= 3e-3);
    }
  }
  // A kernel so small that no limit is met: 16 x 32 x 16.
  const std::vector<BlockPlan> small = mikpoly_blocks(machine, {.n_gen = 2, .n_mik = 4});
  const auto smallest = std::ranges::find_if(
      small, [](const BlockPlan& plan) { return plan.block.rows == 16 && plan.block.depth == 16; });
  REQUIRE(smallest != small.end());
  CHECK(smallest->depths.back() == 5120 * 16);
}
