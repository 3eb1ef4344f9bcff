// select() leaves most strategies unpriced. It takes what pricing all of them one by one would
// take.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <array>
#include <functional>
#include <random>

#include "src/choice/cost/block_sizes.hpp"
#include "src/choice/cost/rest_columns.hpp"
#include "src/choice/cpu/cover_select.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using dyn::testing::random_contraction;
using dyn::testing::random_machine;
using dyn::testing::round_machine;

namespace {

constexpr double plain_tie = 0.02;
constexpr double wakeups_worth_threads = 1 / plain_tie;

std::uint64_t select_seed() { return dyn::testing::test_seed(20261122); }

std::string words(const ContractionShape& shape, int threads) {
  return fmt::format(
      "lanes {} batch {} m {} n {} k {} packed {} must pack {} must copy {} slices {} inlined {} "
      "levels {} {}, {} threads",
      static_cast<int>(shape.lanes), shape.batch, shape.m, shape.n, shape.k, shape.b_packed,
      shape.must_pack_b, shape.must_copy_a, shape.fixed_slices, shape.inlined_rows, shape.a_level,
      shape.b_level, threads);
}

// One after the other, all of them.
Choice plain_choice(const Machine& machine, const CandidateSet& candidates,
                    const ContractionShape& shape, int threads) {
  Choice best;
  bool any = false, best_cuts = false;
  const auto consider = [&](int active) {
    const double overhead = active > 1 ? machine.seconds_per_wakeup : 0;
    for_each_strategy(machine, candidates, shape, active, [&](Strategy strategy) {
      double seconds = contraction_cost(machine, shape, strategy, active) + overhead;
      if (rest_columns(machine, shape) > 0) {
        Strategy dots = strategy;
        dots.dot_rest = true;
        const double with_dots = contraction_cost(machine, shape, dots, active) + overhead;
        if (with_dots < seconds) strategy = dots, seconds = with_dots;
      }
      const bool cuts = strategy.block_k < shape.k;
      if (any && seconds >= best.seconds * (best_cuts && !cuts ? 1 : 1 - plain_tie)) return;
      any = true;
      best_cuts = cuts;
      best = {{{{0, shape.m, 0, shape.n, strategy}}}, active, seconds, 0};
    });
  };
  if (threads > 1) consider(threads);
  if (threads == 1 || shape.fixed_slices > 1 ||
      best.seconds < wakeups_worth_threads * machine.seconds_per_wakeup)
    consider(1);
  if (auto cover = select_cover(machine, shape, best)) return *std::move(cover);
  return best;
}

// Calls `check` with some hundred shapes of several machines.
void for_random_shapes(int machines, int shapes,
                       const std::function<void(const Machine&, const CandidateSet&,
                                                const ContractionShape&, int)>& check) {
  std::mt19937_64 random(select_seed());
  for (int i = 0; i < machines; ++i) {
    const int threads = std::array{1, 2, 3, 8, 16}.at(static_cast<std::size_t>(i) % 5);
    const Machine machine = random_machine(random, threads);
    const CandidateSet candidates = make_candidates(machine);
    for (int j = 0; j < shapes; ++j)
      check(machine, candidates, random_contraction(random, machine), j % 3 == 0 ? 1 : threads);
  }
}

}  // namespace

TEST_CASE("select takes what a plain search over all strategies takes") {
  std::int64_t priced = 0, total = 0;
  for_random_shapes(100, 100,
                    [&](const Machine& machine, const CandidateSet& candidates,
                        const ContractionShape& shape, int threads) {
                      INFO(words(shape, threads));
                      const Choice plain = plain_choice(machine, candidates, shape, threads),
                                   chosen = select(machine, candidates, shape, threads);
                      CHECK(chosen.program == plain.program);
                      CHECK(chosen.threads == plain.threads);
                      CHECK(chosen.seconds == plain.seconds);
                      priced += chosen.considered;
                      for_each_choice(machine, candidates, shape, threads,
                                      [&](const Choice&) { ++total; });
                    });
  // The bounds must exclude something.
  CHECK(2 * priced < total);
}

TEST_CASE("what is chosen ties with the best that is considered, and that with the best of all") {
  for_random_shapes(100, 60,
                    [&](const Machine& machine, const CandidateSet& candidates,
                        const ContractionShape& shape, int threads) {
                      INFO(words(shape, threads));
                      double least = std::numeric_limits<double>::infinity();
                      for_each_choice(
                          machine, candidates, shape, threads,
                          [&](const Choice& choice) { least = std::min(least, choice.seconds); });
                      CHECK(select(machine, candidates, shape, threads).seconds * (1 - plain_tie) *
                                (1 - plain_tie) <=
                            least * (1 + 1e-9));
                    });
}

TEST_CASE("no strategy costs less than the bound for its tiles and blocks") {
  for_random_shapes(
      100, 60,
      [&](const Machine& machine, const CandidateSet& candidates, const ContractionShape& shape,
          int threads) {
        INFO(words(shape, threads));
        for_each_strategy(machine, candidates, shape, threads, [&](const Strategy& strategy) {
          Strategy blocks = strategy;
          blocks.block_k = std::max<std::int64_t>(shape.k, 1);
          blocks.split_k = 1;
          blocks.copy_a = blocks.direct_b = false;
          INFO("tile " << strategy.tile_rows << "x" << strategy.tile_columns << " block "
                       << strategy.block_m << "x" << strategy.block_n << "x" << strategy.block_k
                       << " slices " << strategy.split_k << " copy " << strategy.copy_a
                       << " direct " << strategy.direct_b);
          const double bound =
              least_cost(machine, shape, blocks, BlockSizer(machine, shape).of(blocks), threads);
          CHECK(bound <= contraction_cost(machine, shape, strategy, threads) * (1 + 1e-12));
          if (rest_columns(machine, shape) == 0) return;
          Strategy dots = strategy;
          dots.dot_rest = true;
          CHECK(bound <= contraction_cost(machine, shape, dots, threads) * (1 + 1e-12));
        });
      });
}

TEST_CASE("a cost that is cut short is no less than what was enough, and no more than the whole") {
  constexpr double rounding = 1e-12;
  int cut = 0;
  for_random_shapes(
      50, 30,
      [&](const Machine& machine, const CandidateSet& candidates, const ContractionShape& shape,
          int threads) {
        INFO(words(shape, threads));
        for_each_strategy(machine, candidates, shape, threads, [&](const Strategy& strategy) {
          const BlockSizes sizes = BlockSizer(machine, shape).of(strategy);
          const double whole = contraction_cost(machine, shape, strategy, sizes, threads),
                       bound = least_cost(machine, shape, strategy, sizes, threads);
          for (const double share : {0.1, 0.6, 0.95, 1.1}) {
            const double cost =
                contraction_cost(machine, shape, strategy, sizes, threads, nullptr, share * whole);
            const double least =
                least_cost(machine, shape, strategy, sizes, threads, share * bound);
            CHECK(cost >= std::min(whole, share * whole * (1 - rounding)));
            CHECK(cost <= whole * (1 + rounding));
            CHECK(least >= std::min(bound, share * bound));
            CHECK(least <= bound * (1 + rounding));
            cut += cost < whole ? 1 : 0;
          }
          CHECK(contraction_cost(machine, shape, strategy, sizes, threads, nullptr, 2 * whole) ==
                whole);
        });
      });
  CHECK(cut > 0);
}

TEST_CASE(
    "dots compute the columns of no whole vector wherever that is cheaper, and nowhere else") {
  int cheaper = 0, dearer = 0, none = 0;
  for_random_shapes(
      120, 60,
      [&](const Machine& machine, const CandidateSet& candidates, const ContractionShape& shape,
          int threads) {
        INFO(words(shape, threads));
        const Choice chosen = select(machine, candidates, shape, threads);
        const bool has_rest = shape.may_dot_rest && shape.n > machine.vector_width &&
                              shape.n % machine.vector_width != 0 &&
                              machine.vector_width - shape.n % machine.vector_width >=
                                  0.02 * static_cast<double>(shape.n);
        int with_dots = 0;
        for_each_choice(machine, candidates, shape, threads, [&](const Choice& choice) {
          with_dots += choice.program.regions.front().strategy.dot_rest ? 1 : 0;
        });
        CHECK((with_dots > 0) == has_rest);
        if (chosen.program.regions.size() != 1) return;
        Strategy strategy = chosen.program.regions.front().strategy;
        const bool dots = strategy.dot_rest;
        CHECK((!dots || has_rest));
        if (!has_rest) return static_cast<void>(++none);
        strategy.dot_rest = true;
        const double with = contraction_cost(machine, shape, strategy, chosen.threads);
        strategy.dot_rest = false;
        const double without = contraction_cost(machine, shape, strategy, chosen.threads);
        CHECK(dots == (with < without));
        ++(dots ? cheaper : dearer);
      });
  CHECK(cheaper > 100);
  CHECK(dearer > 100);
  CHECK(none > 100);
}

TEST_CASE("wherever a copy of A is cheaper by more than a tie, copies may pay") {
  constexpr double tie = 0.02;
  int cheaper = 0;
  for_random_shapes(100, 100,
                    [&](const Machine& machine, const CandidateSet& candidates,
                        const ContractionShape& shape, int threads) {
                      INFO(words(shape, threads));
                      for_each_strategy(
                          machine, candidates, shape, threads, [&](const Strategy& strategy) {
                            if (!strategy.copy_a || shape.must_copy_a) return;
                            Strategy as_it_lies = strategy;
                            as_it_lies.copy_a = false;
                            if (contraction_cost(machine, shape, strategy, threads) >=
                                (1 - tie) * contraction_cost(machine, shape, as_it_lies, threads))
                              return;
                            ++cheaper;
                            CHECK(copies_may_pay(machine, shape, strategy));
                          });
                    });
  CHECK(cheaper > 0);
}

TEST_CASE("one thread is tried wherever the wake-up that it spares is no tie") {
  // One block and one slice: two threads bring nothing but a wake-up more.
  Machine machine = round_machine();
  machine.dot_rows = {0, 8, 8, 8, 6, 5, 4, 4, 4};
  machine.seconds_per_wakeup = 1e-6;
  const ContractionShape shape{
      .lanes = LaneAxis::K, .m = 4, .n = 8, .k = 3415, .a_level = 1, .b_level = 1};
  const CandidateSet candidates = make_candidates(machine);
  double least = std::numeric_limits<double>::infinity();
  for_each_choice(machine, candidates, shape, 2,
                  [&](const Choice& choice) { least = std::min(least, choice.seconds); });
  CHECK(least > 20 * machine.seconds_per_wakeup);
  CHECK(select(machine, candidates, shape, 2).seconds * (1 - plain_tie) <= least);
}

TEST_CASE("a long sum of few outputs is cut for the threads that there are") {
  const ContractionShape shape{
      .m = 64, .n = 24, .k = 100000, .b_packed = true, .a_level = 1, .b_level = 1};
  for (const int threads : {1, 2, 8}) {
    const Machine machine = round_machine(threads);
    const Choice chosen = select(machine, make_candidates(machine), shape, threads);
    CAPTURE(threads);
    CHECK(chosen.threads == threads);
    CHECK((chosen.program.regions.front().strategy.split_k > 1) == (threads > 1));
  }
}
