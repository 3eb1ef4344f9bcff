// Searches for micro-kernels, against all kernels of a small machine.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "src/choice/policies/dietcode/search.hpp"
#include "src/tune/pools/block_space.hpp"
#include "src/tune/pools/dietcode_tuner.hpp"
#include "src/tune/pools/macro_kernel_search.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/tune/pools/made_up_machine.hpp"

using namespace dyn;
using namespace dyn::tune;
using choice::block_of;
using choice::BlockKernel;
using choice::numbers_of;
using choice::PoolKernel;
using choice::PoolSpeed;
using choice::ProductShape;
using tune::testing::made_up_measure;
using tune::testing::made_up_speed;
using tune::testing::small_machine;

namespace {

/// A search on a machine whose times are made up.
struct MadeUp {
  MadeUp(choice::Machine of, std::vector<ProductShape> shapes, std::uint64_t seed)
      : machine(std::move(of)), problem{pool_machine(machine), std::move(shapes), seed} {}
  choice::Machine machine;
  PoolProblem problem;
};

std::vector<ProductShape> random_shapes(std::mt19937_64& random, int count) {
  std::vector<ProductShape> shapes;
  for (int i = 0; i < count; ++i)
    shapes.push_back({1, 1 + static_cast<std::int64_t>(random() % 300),
                      1 + static_cast<std::int64_t>(random() % 500),
                      std::int64_t{64} << (random() % 4)});
  return shapes;
}

/// Whole tiles up to the largest shapes of these tests, in steps of 16 along K.
std::vector<PoolSpeed> all_dietcode_kernels(const choice::Machine& machine,
                                            const std::vector<std::int64_t>& depths) {
  std::vector<PoolSpeed> all;
  for (const choice::TileSpeed& tile : machine.tiles) {
    for (std::int64_t m = tile.rows; m <= 300; m += tile.rows) {
      for (std::int64_t n = tile.columns; n <= 512; n += tile.columns) {
        for (std::int64_t k = 16; k <= 512; k += 16) {
          const BlockKernel kernel{tile.rows, tile.columns, m, n, k};
          if (!choice::in_dietcode_space(machine, kernel)) break;
          all.push_back(made_up_speed(machine, {numbers_of(kernel), depths, true}));
        }
      }
    }
  }
  return all;
}

using Search = void (*)(const PoolProblem&, KernelLedger&);

std::vector<PoolSpeed> measured_by(Search search, const MadeUp& made_up, std::size_t budget,
                                   std::vector<PoolSpeed> known = {}) {
  std::size_t left = budget - known.size();
  KernelLedger ledger(std::move(known), made_up_measure(made_up.machine, left));
  search(made_up.problem, ledger);
  return ledger.measured();
}

void search_dietcode(const PoolProblem& problem, KernelLedger& ledger) {
  search_dietcode_kernels(problem, ledger);
}

constexpr Search searches[] = {search_macro_kernels, search_dietcode};

std::vector<PoolKernel> kernels_of(const std::vector<PoolSpeed>& speeds) {
  std::vector<PoolKernel> kernels;
  for (const PoolSpeed& speed : speeds) kernels.push_back(speed.plan.block);
  return kernels;
}

/// Every legal block of the space.
std::vector<BlockKernel> all_blocks(const Space& space) {
  std::vector<BlockKernel> blocks;
  Point point(space.parameters.size(), 0);
  for (bool more = true; more;) {
    if (space.legal(point)) blocks.push_back(block_at(space.values_of(point)));
    more = false;
    for (std::size_t i = 0; i < point.size() && !more; ++i) {
      more = ++point[i] < static_cast<int>(space.parameters[i].values.size());
      if (!more) point[i] = 0;
    }
  }
  return blocks;
}

/// Geometric mean over shapes of the least of these, in seconds.
double mean_seconds(const PoolProblem& problem, const std::vector<PoolSpeed>& speeds) {
  double logarithms = 0;
  for (const ProductShape& shape : problem.shapes) {
    double least = std::numeric_limits<double>::infinity();
    for (const PoolSpeed& speed : speeds)
      least = std::min(least, wave_seconds_of(*problem.machine, speed, shape));
    logarithms += std::log(least);
  }
  return std::exp(logarithms / static_cast<double>(problem.shapes.size()));
}

std::vector<PoolSpeed> kept_of(const std::vector<PoolSpeed>& measured,
                               const std::vector<std::size_t>& kept) {
  std::vector<PoolSpeed> speeds;
  for (const std::size_t index : kept) speeds.push_back(measured[index]);
  return speeds;
}

}  // namespace

TEST_CASE("pools: blocks are whole tiles of the instruction set, and L2 holds them") {
  const choice::Machine machine = small_machine(2);
  const Space space = block_space(machine, {{2, 64, 8, 128, 0}, {5, 64, 5, 64, 0}});
  const std::vector<BlockKernel> blocks = all_blocks(space);
  CHECK(blocks.size() > 500);
  for (const BlockKernel& block : blocks) {
    CHECK(machine.find_tile(block.tile_rows, block.tile_columns) != nullptr);
    CHECK(block.rows % block.tile_rows == 0);
    CHECK(block.columns % block.tile_columns == 0);
    CHECK((block.rows + block.columns) * block.depth + block.rows * block.columns <= 32768);
  }
  CHECK(block_at(space.seeds.front()) == BlockKernel{2, 64, 8, 128, 0});
  // 1 x 32 has a quarter of the fastest tile's speed; 88 of 128 KB are no reason.
  CHECK(space.unmet({32, 1, 1, 1, 64}) == 1);
  CHECK(space.unmet({64, 4, 16, 1, 128}) == 0);
  CHECK(space.unmet({64, 4, 16, 1, 256}) == 1);
}

TEST_CASE("pools: tscompiler's search finds nearly what all macro-kernels together give") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const int threads : {1, 3}) {
    const MadeUp made_up(small_machine(threads), random_shapes(random, 12), random());
    const PoolProblem& problem = made_up.problem;
    const std::vector<PoolSpeed> measured = measured_by(search_macro_kernels, made_up, 150);
    REQUIRE(measured.size() == 150);
    std::vector<PoolSpeed> all;
    for (const BlockKernel& block : all_blocks(block_space(made_up.machine, {})))
      all.push_back(
          made_up_speed(made_up.machine, {numbers_of(block), measured.front().plan.depths, true}));
    const std::vector<std::size_t> kept = best_macro_kernels(problem, measured);
    const double found = mean_seconds(problem, kept_of(measured, kept)),
                 best = mean_seconds(problem, all);
    std::vector<PoolSpeed> drawn;
    for (std::size_t i = 0; i < measured.size(); ++i) drawn.push_back(all[random() % all.size()]);
    const double by_chance = mean_seconds(problem, drawn);
    MESSAGE("times the best of " << all.size() << ": " << found / best
                                 << ", of as many random ones " << by_chance / best);
    CHECK(found / best < 1.06);
    CHECK(found < by_chance);
    CHECK(kept.size() <= most_pool_kernels);
    // The pool leaves out what gains nothing, and the first is the best alone.
    CHECK(mean_seconds(problem, measured) > 0.98 * found);
    for (const PoolSpeed& speed : measured)
      CHECK(mean_seconds(problem, {measured[kept.front()]}) <=
            mean_seconds(problem, {speed}) * (1 + 1e-9));
    CHECK(wave_model_share(problem, measured, kept) <= 1);
    CHECK(wave_model_share(problem, measured, kept) >=
          wave_model_share(problem, measured, {kept.front()}));
  }
}

TEST_CASE("pools: later replays look for what the pool lacks") {
  // Half of the shapes have one row, half are large: no block is good for both.
  MadeUp made_up(small_machine(1), {}, 7);
  PoolProblem& problem = made_up.problem;
  for (std::int64_t n = 64; n <= 512; n += 64) {
    problem.shapes.push_back({1, 1, n, 256});
    problem.shapes.push_back({1, 256, n, 256});
  }
  const std::vector<PoolSpeed> measured = measured_by(search_macro_kernels, made_up, 120);
  const std::vector<std::size_t> kept = best_macro_kernels(problem, measured);
  REQUIRE(kept.size() > 1);
  const auto rows_of = [](const PoolSpeed& speed) { return block_of(speed.plan.block).rows; };
  const std::vector<PoolSpeed> pool = kept_of(measured, kept);
  CHECK(rows_of(std::ranges::min(pool, {}, rows_of)) == 1);
  CHECK(rows_of(std::ranges::max(pool, {}, rows_of)) >= 4);
}

TEST_CASE(
    "pools: dietcode's rounds find nearly the best of all kernels, and more than random ones") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  double tuned = 0, drawn = 0;
  for (const int threads : {1, 2, 3}) {
    const MadeUp made_up(small_machine(threads), random_shapes(random, 10), random());
    const PoolProblem& problem = made_up.problem;
    const std::vector<PoolSpeed> measured = measured_by(search_dietcode, made_up, 96);
    REQUIRE(measured.size() == 96);
    for (const PoolSpeed& speed : measured)
      CHECK(choice::in_dietcode_space(made_up.machine, block_of(speed.plan.block)));
    const std::vector<std::size_t> kept = favoured_kernels(problem, measured);
    CHECK(kept.size() <= problem.shapes.size());
    const double share = dietcode_share(problem, measured, kept);
    tuned += std::log(share);
    const std::vector<PoolSpeed> all =
        all_dietcode_kernels(made_up.machine, measured.front().plan.depths);
    const double best = dietcode_share(problem, all, favoured_kernels(problem, all));
    MESSAGE("of the best of " << all.size() << ": " << share / best);
    CHECK(share > 0.95 * best);
    std::vector<PoolSpeed> others;
    while (others.size() < measured.size()) {
      if (const auto kernel = choice::random_dietcode_kernel(made_up.machine, random))
        others.push_back(made_up_speed(made_up.machine,
                                       {numbers_of(*kernel), measured.front().plan.depths, true}));
    }
    drawn += std::log(dietcode_share(problem, others, favoured_kernels(problem, others)));
  }
  MESSAGE("of the limit: " << std::exp(tuned / 3) << ", with as many random kernels "
                           << std::exp(drawn / 3));
  CHECK(tuned > drawn);
}

TEST_CASE("pools: every shape's vote is for the kernel of most cost") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  const MadeUp made_up(small_machine(1), random_shapes(random, 30), 1);
  const PoolProblem& problem = made_up.problem;
  const std::vector<PoolSpeed> measured = measured_by(search_dietcode, made_up, 40);
  const std::vector<std::size_t> kept = favoured_kernels(problem, measured);
  // One thread: f_OCC is 1, and cost is speed without the padded part.
  const auto cost = [&](std::size_t kernel, const ProductShape& shape) {
    const BlockKernel block = block_of(measured[kernel].plan.block);
    const auto depth = static_cast<double>(measured[kernel].plan.depths.front());
    const auto share = [](std::int64_t size, std::int64_t of) {
      return static_cast<double>(size) / static_cast<double>((size + of - 1) / of * of);
    };
    return static_cast<double>(block.rows * block.columns) * depth /
           measured[kernel].alone.front() * share(shape.m, block.rows) *
           share(shape.n, block.columns) * share(shape.k, block.depth);
  };
  for (const ProductShape& shape : problem.shapes) {
    double best = 0, best_kept = 0;
    for (std::size_t kernel = 0; kernel < measured.size(); ++kernel)
      best = std::max(best, cost(kernel, shape));
    for (const std::size_t kernel : kept) best_kept = std::max(best_kept, cost(kernel, shape));
    CHECK(best_kept == doctest::Approx(best));
  }
}

TEST_CASE("pools: a search that was stopped anywhere goes on as if it had not been") {
  std::mt19937_64 random(11);
  const MadeUp made_up(small_machine(2), random_shapes(random, 6), 3);
  for (const Search search : searches) {
    const std::vector<PoolSpeed> whole = measured_by(search, made_up, 70);
    REQUIRE(whole.size() == 70);
    for (const std::size_t stop : {1, 17, 41}) {
      const std::vector<PoolSpeed> first = measured_by(search, made_up, stop);
      CHECK(first.size() == stop);
      CHECK(kernels_of(measured_by(search, made_up, 70, first)) == kernels_of(whole));
    }
    const MadeUp other(made_up.machine, made_up.problem.shapes, 4);
    CHECK(kernels_of(measured_by(search, other, 70)) != kernels_of(whole));
  }
}

TEST_CASE("pools: a space of few kernels is searched to its end") {
  choice::Machine machine = small_machine(1);
  machine.tiles = {{1, 32, 4e-9}};
  machine.levels[1].bytes = 6000;
  const MadeUp made_up(machine, {{1, 10, 64, 64}}, 1);
  for (const Search search : searches) {
    const std::vector<PoolSpeed> measured = measured_by(search, made_up, 5000);
    CHECK(measured.size() > 3);
    CHECK(measured.size() < 200);
  }
}
