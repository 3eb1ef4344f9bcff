#include <doctest/doctest.h>

#include "src/choice/cost/copy_cost.hpp"
#include "src/choice/cpu/select.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/round_machine.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using dyn::testing::round_machine;

namespace {

Strategy chosen(const Machine& machine, const ContractionShape& shape, int threads) {
  return select(machine, make_candidates(machine), shape, threads).program.regions.front().strategy;
}

// The loads of one tile among all tiles of one block.
double tile_load(const ContractionShape& shape, const Strategy& strategy,
                 const Machine& machine = round_machine()) {
  CostBreakdown breakdown;
  contraction_cost(machine, shape, strategy, 1, &breakdown);
  return breakdown.layers.front().load * breakdown.layers.front().reduction_trips;
}

}  // namespace

TEST_CASE(
    "the cost of a layer is the formula of Vortex with one store for each spatial iteration") {
  LayerTerms terms{.name = "L",
                   .parallel_trips = 5,
                   .units = 2,
                   .spatial_trips = 3,
                   .reduction_trips = 4,
                   .load = 2,
                   .store = 7,
                   .fixed = 0};
  // T_temporal = 3 * (2 + 3 * max(2, 5) + 5 + 7) = 87; F_parallel = ceil(5 / 2) = 3
  CHECK(layer_cost(terms, 5, false) == dyn::testing::relative(3 * 87));
  terms.load = 6;
  CHECK(layer_cost(terms, 5, false) == dyn::testing::relative(3 * 3 * (6 + 3 * 6 + 5 + 7)));
  terms.reduction_trips = 0;
  CHECK(layer_cost(terms, 5, false) == dyn::testing::relative(3 * 3 * 7));
  // Overlapped: twelve iterations in one pipeline, three stores.
  terms.reduction_trips = 4;
  terms.load = 2;
  CHECK(layer_cost(terms, 5, true) == dyn::testing::relative(3 * (2 + 11 * 5 + 5 + 3 * 7)));
  // A quarter of the shorter part is not hidden.
  terms.exposed = 0.25;
  CHECK(layer_cost(terms, 5, true) == dyn::testing::relative(3 * (2 + 11 * 5.5 + 5 + 3 * 7)));
}

TEST_CASE(
    "a tiling covers the extent with as few tiles as there can be, of at most two sizes, and many "
    "of them full") {
  for (std::int64_t extent = 0; extent < 300; ++extent) {
    for (std::int64_t largest = 1; largest < 20; ++largest) {
      const Tiling tiling = tiling_of(extent, largest);
      CHECK(tiling.first.tile * tiling.first.count + tiling.second.tile * tiling.second.count ==
            extent);
      CHECK(tiling.first.tile <= largest);
      CHECK(tiling.tiles() == (extent + largest - 1) / largest);
      if (tiling.second.count > 0) {
        CHECK(tiling.second.tile < tiling.first.tile);
        CHECK(2 * tiling.second.tile >= tiling.first.tile - 1);
      }
      if (extent > largest * largest) CHECK(tiling.first.tile == largest);
    }
  }
  CHECK(to_string(tiling_of(53, 8)) == "6 x 8 + 1 x 5");
  CHECK(to_string(tiling_of(15, 14)) == "1 x 8 + 1 x 7");
  CHECK(to_string(tiling_of(46, 14)) == "2 x 14 + 2 x 9");
}

TEST_CASE("predictions cannot be faster than the arithmetic of layer 0 or the bytes of B allow") {
  const Machine machine = round_machine();
  for (const std::int64_t m : {1, 5, 53, 512}) {
    ContractionShape shape{.m = m, .n = 768, .k = 3072, .a_level = 2, .b_level = 3};
    for (const int threads : {1, 2}) {
      const double seconds = select(machine, make_candidates(machine), shape, threads).seconds;
      CHECK(seconds > static_cast<double>(m) * 768 * 3072 / 32 * 1e-9 / threads * 0.9);
      CHECK(seconds > 768.0 * 3072 * 4 / (threads == 1 ? 10e9 : 15e9) * 0.9);
    }
  }
}

TEST_CASE(
    "moving a block reads it from where it lies or from L2 where that is nearer, and packing turns "
    "it besides") {
  const Machine machine = round_machine();
  CHECK(block_move_seconds(machine, 1000, dyn::DType::f32, 2, false, 1) ==
        dyn::testing::relative(8000 / 20e9));
  CHECK(block_move_seconds(machine, 1000, dyn::DType::bf16, 2, false, 1) ==
        dyn::testing::relative(6000 / 20e9));
  CHECK(block_move_seconds(machine, 1000, dyn::DType::f32, 3, true, 2) ==
        dyn::testing::relative(8000 / 7.5e9 + 1000e-9));
  CHECK(block_move_seconds(machine, 1000, dyn::DType::f32, 0, false, 1) ==
        dyn::testing::relative(8000 / 64e9));
}

TEST_CASE(
    "a copy of windows reads each element once from where it is, writes to where its block fits, "
    "and pays for its runs") {
  const Machine machine = round_machine();
  const auto load = [&](std::int64_t block_m, float distinct, int runs) {
    const ContractionShape shape{.m = 20000,
                                 .n = 64,
                                 .k = 500,
                                 .must_copy_a = true,
                                 .a_slides = true,
                                 .a_distinct = distinct,
                                 .a_runs = runs,
                                 .a_level = 3};
    CostBreakdown breakdown;
    contraction_cost(machine, shape,
                     {.tile_rows = 14,
                      .tile_columns = 32,
                      .block_m = block_m,
                      .block_n = 64,
                      .block_k = 500,
                      .copy_a = true},
                     1, &breakdown);
    return breakdown.layers[1].load;
  };
  // 100 rows of 2000 bytes stay in L2; of 20000 rows, 40 MB, nothing does.
  const double bytes = 100 * 2000;
  CHECK(load(100, 0.25F, 0) ==
        dyn::testing::relative(bytes / 4 / machine.bandwidth_per_thread(3, 1) +
                               bytes / machine.bandwidth_per_thread(1, 1)));
  CHECK(load(100, 1, 0) - load(100, 0.25F, 0) ==
        dyn::testing::relative(bytes * 3 / 4 / machine.bandwidth_per_thread(3, 1)));
  CHECK(load(100, 1, 9) - load(100, 1, 0) == dyn::testing::relative(100 * 9 * 1e-9));
  CHECK(load(20000, 0.25F, 0) / 200 > 1.5 * load(100, 0.25F, 0));
  // So blocks that fit are chosen.
  const ContractionShape shape{.m = 20000,
                               .n = 64,
                               .k = 500,
                               .must_copy_a = true,
                               .a_slides = true,
                               .a_distinct = 0.25F,
                               .a_runs = 3,
                               .a_level = 3};
  CHECK(chosen(machine, shape, 1).block_m * 2000 < machine.levels[1].bytes);
}

TEST_CASE(
    "a block in a strip pays for its rows of the tensor, for finding its windows, and for copies "
    "of windows that no full tile has") {
  const Machine machine = round_machine();
  const auto load = [&](std::int64_t block_m, const WindowStrips& strips,
                        std::int64_t block_k = 500, int tile_columns = 32) {
    const ContractionShape shape{.m = 20000,
                                 .n = 64,
                                 .k = 500,
                                 .must_copy_a = true,
                                 .a_slides = true,
                                 .a_distinct = 0.25F,
                                 .a_runs = 5,
                                 .a_strips = strips,
                                 .inlined_rows = 10,
                                 .a_level = 3};
    CostBreakdown breakdown;
    contraction_cost(machine, shape,
                     {.tile_rows = 10,
                      .tile_columns = tile_columns,
                      .block_m = block_m,
                      .block_n = 64,
                      .block_k = block_k,
                      .copy_a = true},
                     1, &breakdown);
    return breakdown.layers[1].load;
  };
  // 100 windows are 5 rows of 20, which 5 * 2 + 3 rows of the tensor hold.
  const WindowStrips strips{.row_elements = 300, .windows = 20, .step = 2, .taps = 3};
  const double bytes = 13 * 300 * 4;
  const double strip =
      bytes / machine.bandwidth_per_thread(3, 1) + bytes / machine.bandwidth_per_thread(1, 1);
  CHECK(load(100, strips) == dyn::testing::relative(strip + 100 * 1e-9));
  // 6 of the 106 rows belong to another tile.
  const double six =
      load(106, strips) -
      13.6 * 300 * 4 *
          (1 / machine.bandwidth_per_thread(3, 1) + 1 / machine.bandwidth_per_thread(1, 1)) -
      106 * 1e-9;
  CHECK(six == dyn::testing::relative(load(100, {}) * 6 / 100));
  // Within one row of windows, the columns that they touch: 10 windows and 3 more, of 200.
  const WindowStrips wide{.row_elements = 3000, .windows = 200, .step = 2, .taps = 3};
  const double part = (10.0 / 200 * 2 + 3) * 3000 * 4 * 13 / 200;
  CHECK(load(10, wide) ==
        dyn::testing::relative(part / machine.bandwidth_per_thread(3, 1) +
                               part / machine.bandwidth_per_thread(1, 1) + 10 * 1e-9));
  // Windows are copied where K is cut, where other tiles than full ones run, and where the strip
  // would leave L2.
  CHECK(load(100, strips, 250) == load(100, {}, 250));
  CHECK(load(100, strips, 500, 64) == load(100, {}, 500, 64));
  CHECK(load(20000, strips) == load(20000, {}));
  CHECK(strips.most_rows(1) == 3);
  CHECK(strips.most_rows(2) == 6);
  CHECK(strips.most_rows(21) == 6);
  CHECK(strips.most_rows(22) == 9);
}

TEST_CASE("a changed term of the cost changes the choice") {
  const ContractionShape shape{
      .m = 512, .n = 768, .k = 3072, .a_row_bytes = 12288, .a_level = 2, .b_level = 2};
  Machine machine = round_machine();
  // Rows 12288 bytes apart share cache sets. Where they are fetched again and again from a slow L2,
  // lower tiles read them better or, where these are slow, copies do; from a fast L2 they do not.
  const auto ways = static_cast<int>(rows_without_conflicts(machine));
  machine.levels[1].bandwidth = {4e9, 8e9};
  CHECK_FALSE(chosen(machine, shape, 1).copy_a);
  CHECK(chosen(machine, shape, 1).tile_rows == ways);
  for (TileSpeed& tile : machine.tiles) {
    if (tile.rows <= ways) tile.seconds_per_k *= 2;
  }
  CHECK(chosen(machine, shape, 1).copy_a);
  machine.levels[1].bandwidth = {6400e9, 12800e9};
  CHECK_FALSE(chosen(machine, shape, 1).copy_a);
  CHECK(chosen(machine, shape, 1).tile_rows > ways);
  // Two threads are not worth it where waking the other one costs more than the work.
  machine = round_machine();
  CHECK(select(machine, make_candidates(machine), shape, 2).threads == 2);
  machine.seconds_per_wakeup = 1;
  CHECK(select(machine, make_candidates(machine), shape, 2).threads == 1);
  // A measured tile that is slow is not chosen.
  machine = round_machine();
  const ContractionShape few_rows{.m = 5, .n = 768, .k = 768, .a_level = 1, .b_level = 1};
  CHECK(chosen(machine, few_rows, 1).tile_columns == 64);
  for (TileSpeed& tile : machine.tiles) {
    if (tile.columns == 64) tile.seconds_per_k *= 4;
  }
  CHECK(chosen(machine, few_rows, 1).tile_columns == 32);
}

TEST_CASE(
    "lines that two column tiles share cost what comes back, where rows do not begin on a line") {
  const Machine machine = round_machine();
  // The cost of blocks of so many rows beyond that of blocks of one row tile, after which no line
  // has left L1.
  const auto longer = [&](std::int64_t n, std::int64_t k, std::int64_t block_m) {
    const ContractionShape shape{.m = 14 * 4096, .n = n, .k = k, .a_level = 2};
    const Strategy low{
        .tile_rows = 14, .tile_columns = 32, .block_m = 14, .block_n = 128, .block_k = k};
    Strategy high = low;
    high.block_m = block_m;
    return contraction_cost(machine, shape, high, 1) - contraction_cost(machine, shape, low, 1);
  };
  // Four column tiles, three of which share a line with the one before: 121 columns begin on a line
  // in one row of 16, 122 in two of 16, 128 in all.
  CHECK(longer(122, 4, 224) > longer(128, 4, 224));
  CHECK(longer(121, 4, 224) - longer(128, 4, 224) ==
        dyn::testing::relative((longer(122, 4, 224) - longer(128, 4, 224)) * 15 / 14));
  // The multiply-adds of deep tiles hide what comes from L2, but not what comes from beyond.
  CHECK(longer(121, 64, 224) == dyn::testing::relative(longer(128, 64, 224)));
  CHECK(longer(121, 64, 14 * 4096) > longer(128, 64, 14 * 4096) + 1e-6);
}

TEST_CASE("with lanes along K a tile reads the columns that there are") {
  // Two columns of 1000 stay in L1, a panel of 32 would not; A comes from L3.
  const ContractionShape shape{.lanes = LaneAxis::K, .m = 800, .n = 2, .k = 1000, .a_level = 2};
  const Strategy strategy{.tile_rows = 8,
                          .tile_columns = 32,
                          .block_m = 800,
                          .block_n = 32,
                          .block_k = 1000,
                          .lanes = LaneAxis::K};
  CHECK(tile_load(shape, strategy) == dyn::testing::relative(8 * 1000 * 4 / 20e9));
  // Each block of K is a run of its own in A's rows in memory.
  ContractionShape from_memory = shape;
  from_memory.a_level = 3;
  Strategy cut = strategy;
  cut.block_k = 500;
  CHECK(tile_load(from_memory, strategy) == dyn::testing::relative(8 * 1000 * 4 / 10e9));
  CHECK(tile_load(from_memory, cut) == dyn::testing::relative(8 * 500 * 4 / 10e9 + 8 * 30e-9));
}

TEST_CASE("panels side by side are read slower from beyond L2 by tiles of two rows and more") {
  const auto load = [](std::int64_t m, int columns, std::size_t level) {
    const ContractionShape shape{.m = m, .n = 4096, .k = 1024, .b_level = level};
    return tile_load(shape, {.tile_rows = 14,
                             .tile_columns = columns,
                             .block_m = m,
                             .block_n = 4096,
                             .block_k = 1024}) /
           columns;
  };
  CHECK(load(2, 128, 2) > 1.1 * load(2, 32, 2));
  CHECK(load(2, 128, 3) > 1.1 * load(2, 32, 3));
  CHECK(load(2, 64, 2) > 1.03 * load(2, 32, 2));
  CHECK(load(2, 128, 1) < 1.01 * load(2, 32, 1));
  CHECK(load(1, 128, 2) < 1.01 * load(1, 32, 2));
}

TEST_CASE("nothing hides rows of B that lie apart") {
  const auto exposed = [](std::int64_t k, std::int64_t rows) {
    const ContractionShape shape{
        .m = rows, .n = 320, .k = k, .b_packed = false, .b_row_bytes = 1284, .b_level = 1};
    CostBreakdown breakdown;
    contraction_cost(round_machine(), shape,
                     {.tile_rows = 14,
                      .tile_columns = 32,
                      .block_m = rows,
                      .block_n = 320,
                      .block_k = k,
                      .direct_b = true},
                     1, &breakdown);
    return breakdown.layers.front().exposed;
  };
  CHECK(exposed(6000, 28) == 1);
  CHECK(exposed(2000, 28) < 0.1);  // again from L2
  CHECK(exposed(6000, 14) < 0.1);  // once
}

TEST_CASE("row tiles that do not ask for the next columns leave the first of them to wait") {
  const auto store = [](std::int64_t k, std::int64_t rows, std::size_t level) {
    const ContractionShape shape{.m = rows, .n = 320, .k = k, .b_level = level};
    CostBreakdown breakdown;
    contraction_cost(
        round_machine(), shape,
        {.tile_rows = 4, .tile_columns = 32, .block_m = rows, .block_n = 320, .block_k = k}, 1,
        &breakdown);
    return breakdown.layers.front().store;
  };
  // A panel of 2500 x 32 takes 16 us from L3 and 5 us from L2, its multiply-adds 10 us; A's rows of
  // a tile 0.625 us from L2.
  CHECK(store(2500, 8, 2) - store(2500, 8, 3) ==
        dyn::testing::relative(10e-6 + (16.625e-6 - 10e-6) / 2 - 11.125e-6).epsilon(0.01));
  // From memory, and where L2 holds two panels twice over, all row tiles ask; one row tile alone
  // has all its time for that.
  CHECK(store(1500, 8, 2) == store(1500, 8, 3));
  CHECK(store(2500, 4, 2) == store(2500, 4, 3));
}

TEST_CASE(
    "blocks count as their mean where threads share them evenly, else as those of whole panels") {
  Machine machine = round_machine();
  // Sorted by columns.
  for (int rows = 14; rows > 0; --rows)
    machine.tiles.insert(machine.tiles.begin(), {rows, 16, std::max(rows, 4) * 0.5e-9});
  // Two panels in two blocks, the second of 3 columns.
  const auto seconds = [&](std::int64_t m, std::int64_t n, std::int64_t block_m, int threads) {
    const ContractionShape shape{.m = m, .n = n, .k = 1000};
    return contraction_cost(
        machine, shape,
        {.tile_rows = 14, .tile_columns = 32, .block_m = block_m, .block_n = 32, .block_k = 1000},
        threads);
  };
  CHECK(seconds(1400, 35, 1400, 2) == dyn::testing::relative(seconds(1400, 64, 1400, 2)));
  // Three whole panels and one that is not: a thread has two.
  CHECK(seconds(1400, 99, 1400, 2) ==
        dyn::testing::relative(seconds(1400, 128, 1400, 2)).epsilon(0.01));
  CHECK(seconds(1400, 35, 1400, 1) < 0.8 * seconds(1400, 64, 1400, 1));
  CHECK(seconds(1400, 35, 14, 2) < 0.8 * seconds(1400, 64, 14, 2));
}

TEST_CASE(
    "a panel of B that is cut is packed by each ticket, even where others are read as they lie") {
  const Machine machine = round_machine();
  const auto seconds = [&](std::int64_t n) {
    const ContractionShape shape{
        .m = 14, .n = n, .k = 500, .b_packed = false, .b_row_bytes = 4 * n};
    return contraction_cost(machine, shape,
                            {.tile_rows = 14,
                             .tile_columns = 32,
                             .block_m = 14,
                             .block_n = 64,
                             .block_k = 500,
                             .direct_b = true},
                            1);
  };
  CHECK(seconds(63) - seconds(64) == dyn::testing::relative(500 * 4e-9).epsilon(0.05));
}

TEST_CASE("rows of A that come from memory a second time for dots are hidden by nothing") {
  // The time that dots add to a tile beside its multiply-adds.
  Machine machine = round_machine();
  machine.dot_rows = {0, 8, 8, 8};
  const auto bare = [&](std::int64_t block_m, std::int64_t n) {
    const ContractionShape shape{.m = 14000, .n = n, .k = 582, .may_dot_rest = true, .a_level = 3};
    const auto store = [&](bool dots) {
      CostBreakdown breakdown;
      Strategy strategy{
          .tile_rows = 14, .tile_columns = 32, .block_m = block_m, .block_n = 96, .block_k = 582};
      strategy.dot_rest = dots;
      contraction_cost(machine, shape, strategy, 1, &breakdown);
      return breakdown.layers.front().store;
    };
    return store(true) - store(false);
  };
  // 33 KB of a tile's rows take 3.3 us from memory, 74 KB of a panel 0.8 us from L2, the dots of
  // two columns much less; they are every second tile.
  CHECK(bare(14000, 34) > 0.5e-6);
  CHECK(bare(14000, 34) < (3.3e-6 + 0.8e-6) / 2);
  CHECK(bare(14000, 66) < bare(14000, 34));   // every third
  CHECK(bare(28, 34) < bare(14000, 34) / 3);  // again from L2
}
