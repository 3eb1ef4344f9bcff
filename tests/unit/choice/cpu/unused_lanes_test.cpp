// Lanes of multiply-adds that compute nothing useful, counted tile by tile and vector by vector.

#include <doctest/doctest.h>

#include "src/choice/cpu/unused_lanes.hpp"
#include "src/rkernel/tree/regions.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;

namespace {

/// The parts that kernels cut an axis in: as equal as they can be, larger ones first.
std::vector<std::int64_t> equal_parts(std::int64_t extent, std::int64_t parts) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t part = 0; part < parts; ++part)
    sizes.push_back(extent / parts + (part < extent % parts ? 1 : 0));
  return sizes;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Lanes {
  std::int64_t all = 0, wanted = 0;
};

// Counts one step of K of a region whose lanes run along its columns: blocks, in them tiles, in
// them panels, in them vectors.
Lanes count_columns(const Machine& machine, std::int64_t all_columns, const Region& region) {
  Lanes lanes;
  const Strategy& strategy = region.strategy;
  std::int64_t column = region.n0;
  const std::int64_t tile_panels = strategy.tile_columns / machine.panel;
  for (const std::int64_t block_panels :
       equal_parts(ceil_div(region.n, machine.panel), ceil_div(region.n, strategy.block_n))) {
    // Without packing, B is read as it lies, except for a cut panel, which is packed and runs by
    // itself.
    const bool is_cut = column + block_panels * machine.panel > all_columns;
    // A panel whose columns beyond the last whole vector are dots runs by itself too: the dots
    // waste nothing along n.
    const bool has_dots = is_cut && strategy.dot_rest;
    const std::int64_t for_wide =
        block_panels - ((strategy.direct_b && is_cut) || has_dots ? 1 : 0);
    for (std::int64_t left = block_panels; left > 0;) {
      const std::int64_t done = block_panels - left;
      const std::int64_t panels =
          done + tile_panels <= for_wide && done % tile_panels == 0 ? tile_panels : 1;
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        for (int vector = 0; vector < machine.panel; vector += machine.vector_width) {
          const std::int64_t exist =
              std::clamp<std::int64_t>(all_columns - column - vector, 0, machine.vector_width);
          // A panel by itself whose columns fill one vector at most has one vector.
          if (panels == 1 && vector > 0 && all_columns - column <= machine.vector_width) continue;
          lanes.all += has_dots && exist < machine.vector_width ? exist : machine.vector_width;
          lanes.wanted += exist;
        }
        column += machine.panel;
      }
      left -= panels;
    }
  }
  lanes.all *= region.m;
  lanes.wanted *= region.m;
  return lanes;
}

Region random_region(std::mt19937_64& random, const Machine& machine, Region region) {
  const int columns = machine.panel << (random() % 3);
  region.strategy.tile_columns = machine.most_rows(columns) > 0 ? columns : machine.panel;
  region.strategy.tile_rows = machine.most_rows(region.strategy.tile_columns);
  region.strategy.block_m = 1 + static_cast<std::int64_t>(random() % 100);
  region.strategy.block_n = machine.panel * (1 + static_cast<std::int64_t>(random() % 12));
  region.strategy.direct_b = random() % 2 == 0;
  region.strategy.dot_rest = random() % 2 == 0;
  return region;
}

}  // namespace

TEST_CASE(
    "unused lanes along columns are those that kernels compute for columns that do not exist") {
  std::mt19937_64 random(dyn::testing::test_seed(20261124));
  for (int i = 0; i < 2000; ++i) {
    const Machine machine = dyn::testing::random_machine(random, 2);
    ContractionShape shape{.m = 1 + static_cast<std::int64_t>(random() % 90),
                           .n = 1 + static_cast<std::int64_t>(random() % 500),
                           .k = 64};
    shape.lanes = random() % 3 == 0 ? LaneAxis::M : LaneAxis::N;
    const std::int64_t panels = ceil_div(shape.n, machine.panel);
    const Cuts cuts{
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape.m)),
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(panels)) * machine.panel,
        shape.m};
    shape.may_dot_rest = shape.lanes == LaneAxis::N;
    Program program{cover(all_patterns.at(random() % all_patterns.size()), shape.m, shape.n, cuts)};
    Lanes lanes;
    std::int64_t dots = 0;
    for (Region& region : program.regions) {
      region = random_region(random, machine, region);
      region.strategy.lanes = shape.lanes;
      region.strategy.block_k = shape.k;
      if (!shape.may_dot_rest) region.strategy.dot_rest = false;
      dots +=
          region.strategy.dot_rest ? region.m * ((region.n0 + region.n) % machine.vector_width) : 0;
      const Lanes own = count_columns(machine, shape.n, region);
      lanes.all += own.all;
      lanes.wanted += own.wanted;
    }
    REQUIRE(lanes.wanted == shape.m * shape.n);
    const double expected = 1 - static_cast<double>(lanes.wanted) / static_cast<double>(lanes.all);
    const dyn::rkernel::UnusedLanes unused = unused_lanes(machine, shape, program);
    CAPTURE(shape.n);
    // Columns of a problem with its sides exchanged are its rows.
    CHECK((shape.lanes == LaneAxis::M ? unused.m : unused.n) ==
          doctest::Approx(expected).epsilon(1e-12));
    CHECK((shape.lanes == LaneAxis::M ? unused.n : unused.m) == 0);
    // A dot of 64 terms has whole vectors, and one more for the rest.
    const double terms = static_cast<double>(shape.k * lanes.all);
    CHECK(unused.k ==
          doctest::Approx(1 - terms / (terms + static_cast<double>(dots * machine.vector_width)))
              .epsilon(1e-12));
    if (shape.n % machine.panel == 0) CHECK(unused.all() == 0);
  }
}

TEST_CASE("unused lanes of dots are those of masked vectors of K") {
  std::mt19937_64 random(dyn::testing::test_seed(20261125));
  for (int i = 0; i < 2000; ++i) {
    const Machine machine = dyn::testing::random_machine(random, 2);
    const ContractionShape shape{
        .lanes = LaneAxis::K, .m = 40, .n = 3, .k = 1 + static_cast<std::int64_t>(random() % 5000)};
    Strategy strategy{.tile_rows = 4,
                      .tile_columns = machine.panel,
                      .block_m = 20,
                      .block_n = 3,
                      .block_k = random() % 2 == 0 ? shape.k : 512,
                      .lanes = LaneAxis::K};
    strategy.split_k = 1 + static_cast<std::int64_t>(random() % 6);
    std::int64_t computed = 0;
    const std::int64_t blocks = ceil_div(ceil_div(shape.k, strategy.split_k), strategy.block_k);
    for (const std::int64_t slice : equal_parts(shape.k, strategy.split_k)) {
      std::int64_t left = slice;
      // Blocks of K begin at whole vectors.
      const std::int64_t block =
          ceil_div(ceil_div(ceil_div(shape.k, strategy.split_k), blocks), 16) * 16;
      for (std::int64_t j = 0; j < blocks; ++j) {
        const std::int64_t terms = std::clamp<std::int64_t>(left, 0, block);
        std::int64_t whole = 0;
        while (whole + machine.vector_width <= terms) whole += machine.vector_width;
        computed += whole + machine.vector_width;
        left -= terms;
      }
      REQUIRE(left == 0);
    }
    const dyn::rkernel::UnusedLanes unused =
        unused_lanes(machine, shape, Program{{{0, shape.m, 0, shape.n, strategy}}});
    CAPTURE(shape.k);
    CHECK(unused.k ==
          doctest::Approx(1 - static_cast<double>(shape.k) / static_cast<double>(computed))
              .epsilon(1e-12));
    CHECK(unused.m == 0);
    CHECK(unused.n == 0);
  }
}

TEST_CASE("what has no multiply-adds wastes no lanes") {
  const Machine machine = dyn::testing::round_machine();
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}}) {
    const ContractionShape shape{.m = m, .n = n, .k = k};
    CHECK(unused_lanes(machine, shape,
                       Program{{{0,
                                 m,
                                 0,
                                 n,
                                 {.tile_rows = 4,
                                  .tile_columns = 32,
                                  .block_m = 8,
                                  .block_n = 32,
                                  .block_k = 8}}}})
              .all() == 0);
  }
}
