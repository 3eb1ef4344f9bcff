// FTuner's uKernels: factors, alignment and the filters of Algorithm 1, by hand.

#include "src/choice/policies/ftuner/ukernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using Extents = std::vector<std::int64_t>;

TEST_CASE("an axis has its factors, and those of its neighbours where its own are no tiles") {
  CHECK(axis_factors(1, 14) == Extents{1});
  CHECK(axis_factors(13, 14) == Extents{1, 13});
  CHECK(axis_factors(48, 14) == Extents{1, 2, 3, 4, 6, 8, 12, 16, 24, 48});
  // The paper's example: 53 has those of 52 and 54.
  CHECK(axis_factors(53, 14) == Extents{1, 2, 3, 4, 6, 9, 13, 18, 26, 27, 52, 53, 54});
  // 2 x 53: at most two rows; 105 = 3 x 5 x 7 and 107.
  CHECK(axis_factors(106, 14) == Extents{1, 2, 3, 5, 7, 15, 21, 35, 53, 105, 106, 107});
}

TEST_CASE("ftuner's aligned blocks are multiples of tiles by factors of both axes") {
  const Machine machine = dyn::testing::round_machine();  // 14 x 32 and 5 x 64 at most
  const std::vector<BlockKernel> aligned = aligned_ukernels(machine, {1, 6, 128, 100});
  // Rows 1, 2, 3, 6; one, two or four panels.
  std::vector<BlockKernel> wanted;
  for (const int columns : {32, 64}) {
    for (const int tile : {1, 2, 3, 6}) {
      if (columns == 64 && tile > 5) continue;
      for (const std::int64_t m : {1, 2, 3, 6}) {
        for (const std::int64_t n : {32, 64, 128})
          if (m % tile == 0 && n % columns == 0) wanted.push_back({tile, columns, m, n, 112});
      }
    }
  }
  CHECK(aligned.size() == wanted.size());
  CHECK(std::ranges::is_permutation(aligned, wanted));
  // 16 * 2^i elements of K as long as L2's 262144 floats hold the block: 512 of 240 x 256 would
  // need 315392. 1000 are four blocks of 250, in lines.
  const std::vector<BlockKernel> deep = aligned_ukernels(machine, {1, 240, 256, 1000});
  const auto block = std::ranges::find_if(
      deep, [](const BlockKernel& one) { return one.rows == 240 && one.columns == 256; });
  REQUIRE(block != deep.end());
  CHECK(block->depth == 256);
}

TEST_CASE("crosspick trades padding against occupancy as epsilon and lambda move") {
  Machine machine = dyn::testing::round_machine(20);
  const FTunerParameters parameters;
  const auto picks = [&](std::int64_t m, std::int64_t rows) {
    const std::vector<BlockKernel> all{{1, 32, rows, 32, 16}, {1, 32, 1, 1 << 20, 16}};
    const std::vector<BlockKernel> picked = cross_pick(machine, all, {1, m, 32, 16}, parameters);
    return picked.size() == 1 && picked.front().rows == rows;
  };
  // The second block is too large for L2. 19 of 20 threads: 0.95 of occupancy passes with any
  // padding from 0.5 on; 18 of 20 needs epsilon at 0.95 or more, which is 45 steps further: lambda
  // is 0.905 there, so 0.9 is too little.
  CHECK(picks(19 * 10, 10));
  const std::vector<BlockKernel> two{{1, 32, 10, 32, 16}, {1, 32, 19, 32, 16}};
  // 181 rows: blocks of 10 are 19 with 0.953 of Pad; of 19 are 10 of 20, half occupied.
  CHECK(cross_pick(machine, two, {1, 181, 32, 16}, parameters) == std::vector<BlockKernel>{two[0]});
  // None passes: those that are occupied most stay.
  CHECK(cross_pick(machine, two, {1, 50, 32, 16}, parameters) == std::vector<BlockKernel>{two[0]});
  // Pad 0.75 with 0.93 of occupancy: epsilon reaches 0.75 after 25 steps, lambda 0.925.
  machine.threads = 100;
  const std::vector<BlockKernel> padded{{1, 32, 4, 32, 16}};
  const std::vector<BlockKernel> other{{1, 32, 4, 32, 16}, {1, 32, 3, 32, 16}};
  // 93 batches of 3 rows: blocks of 4 rows have 0.75 of Pad, those of 3 have all of it, and both 93
  // blocks.
  CHECK(cross_pick(machine, other, {93, 3, 32, 16}, parameters).size() == 2);
  // 92 batches: 0.92 is reached at step 30, where epsilon is 0.8.
  CHECK(cross_pick(machine, other, {92, 3, 32, 16}, parameters) ==
        std::vector<BlockKernel>{other[1]});
}

TEST_CASE("compute efficiency of a block on a CPU, by hand") {
  Machine machine = dyn::testing::round_machine();
  machine.levels[3].bandwidth = {10e9, 20e9};   // 10 bytes a ns each
  machine.levels[1].bandwidth = {50e9, 100e9};  // 50 bytes
  // 8 x 64 x 100: two tiles of 8 ns a step. Memory: (72 * 100 + 512) * 4 bytes at 10; L2: two tiles
  // of 40 * 100 and 512 sums, at 50.
  CHECK(compute_efficiency(machine, {8, 32, 8, 64, 0}, 100, {}) ==
        doctest::Approx(1600 / (30848.0 / 10)));
  // Memory as fast as L2 with K in blocks of 16: sums are written 7 times and read 6 times.
  machine.levels[3].bandwidth = {1e12, 2e12};
  CHECK(compute_efficiency(machine, {8, 32, 8, 64, 16}, 100, {}) ==
        doctest::Approx(1600 / ((8000.0 + 512 * 13) * 4 / 50)));
}

TEST_CASE("every workload keeps some uKernels, which L2 holds") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    const Machine machine =
        dyn::testing::random_machine(random, 1 + static_cast<int>(random() % 9));
    const auto size = [&] {
      return 1 + static_cast<std::int64_t>(random() % (1u << (random() % 15)));
    };
    const ProductShape shape{1, size(), size(), size() - 1};
    CAPTURE(shape.m);
    CAPTURE(shape.n);
    CAPTURE(shape.k);
    const std::vector<BlockKernel> kept = ftuner_ukernels(machine, shape, {});
    CHECK_FALSE(kept.empty());
    for (const BlockKernel& block : kept) {
      CHECK(((block.rows + block.columns) * block.depth + block.rows * block.columns) * 4 <=
            machine.levels[1].bytes);
      CHECK(block.rows % block.tile_rows == 0);
      CHECK(block.columns % block.tile_columns == 0);
    }
  }
  CHECK(ftuner_ukernels(dyn::testing::round_machine(), {1, 0, 5, 5}, {}).empty());
}
