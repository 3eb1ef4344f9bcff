// The space of programs that tuners search, and the programs of their files.

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "dyn/error.hpp"
#include "src/choice/calibration/json.hpp"
#include "src/choice/cost/program_cost.hpp"
#include "src/choice/cpu/legality.hpp"
#include "src/choice/cpu/strategy_space.hpp"
#include "src/choice/cpu/tuned_choices.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using dyn::rkernel::Region;
using dyn::rkernel::Strategy;
using dyn::rkernel::Tuning;

namespace {

ContractionShape shape_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k, .a_level = 2, .b_level = 2};
}

/// Texts that tell programs apart.
std::string text_of(const Choice& choice) { return nlohmann::json(choice).dump(); }

StrategySpace::Point random_allowed(const StrategySpace& space,
                                    const std::vector<StrategySpace::Point>& seeds,
                                    std::mt19937_64& random) {
  while (true) {
    StrategySpace::Point point = seeds[random() % seeds.size()];
    for (std::uint64_t changes = 1 + random() % 5; changes > 0; --changes) {
      const std::size_t axis = random() % point.size();
      const auto& values = space.axes()[axis].values;
      point[axis] = values[random() % values.size()];
    }
    if (space.allows(point)) return point;
  }
}

Choice whole(const ContractionShape& shape, const Strategy& strategy) {
  return {{{{0, shape.m, 0, shape.n, strategy}}}, 1, 1e-6, 0};
}

}  // namespace

TEST_CASE("strategy space: dyn's candidates are seeds, the best predicted first") {
  const Machine machine = dyn::testing::round_machine();
  const CandidateSet candidates = make_candidates(machine);
  for (const auto& [m, n, k] : {std::tuple{1, 768, 768}, {53, 800, 3000}, {500, 33, 129}}) {
    const ContractionShape shape = shape_of(m, n, k);
    const StrategySpace space(machine, candidates, {shape}, 2);
    const auto seeds = space.seeds(1000);
    REQUIRE_FALSE(seeds.empty());
    double last = 0;
    std::set<std::string> programs;
    for (const auto& seed : seeds) {
      REQUIRE(space.allows(seed));
      const Choice choice = space.choice_at(seed);
      const double seconds = program_cost(machine, shape, choice.program, choice.threads) +
                             (choice.threads > 1 ? machine.seconds_per_wakeup : 0);
      CHECK(seconds >= last * (1 - 1e-9));
      last = seconds;
      CHECK(space.promises(seeds.front()));
      programs.insert(text_of(choice));
    }
    // Every strategy that is considered has its point, whose blocks divide as its own do.
    std::size_t considered = 0;
    for_each_choice(machine, candidates, shape, 2, [&](const Choice&) { ++considered; });
    CHECK(seeds.size() <= considered);
    CHECK(seeds.size() * 3 >= considered);
    CHECK(space.seeds(3).size() == std::min<std::size_t>(3, seeds.size()));
  }
}

TEST_CASE("strategy space: allowed programs are legal, and most are beyond dyn's candidates") {
  std::mt19937_64 random(dyn::testing::test_seed(31));
  for (int round = 0; round < 12; ++round) {
    const Machine machine =
        dyn::testing::random_machine(random, 1 + static_cast<int>(random() % 4));
    ContractionShape shape = dyn::testing::random_contraction(random, machine);
    if (shape.m * shape.n * shape.batch == 0) continue;
    const CandidateSet candidates = make_candidates(machine);
    std::set<std::string> considered;
    for_each_choice(machine, candidates, shape, machine.threads,
                    [&](const Choice& choice) { considered.insert(text_of(choice)); });
    if (considered.empty()) continue;
    const StrategySpace space(machine, candidates, {shape}, machine.threads);
    const auto seeds = space.seeds(50);
    std::size_t beyond = 0;
    std::set<std::size_t> regions;
    for (int i = 0; i < 200; ++i) {
      const auto point = random_allowed(space, seeds, random);
      const Choice choice = space.choice_at(point);
      CHECK(illegality(machine, shape, choice, machine.threads).empty());
      CHECK(space.unmet(point) >= 0);
      CHECK(std::isfinite(program_cost(machine, shape, choice.program, choice.threads)));
      beyond += considered.contains(text_of(choice)) ? 0 : 1;
      regions.insert(choice.program.regions.size());
    }
    if (shape.m > 40 && shape.n > 200) {
      CHECK(beyond > 100);
      if (shape.lanes != dyn::rkernel::LaneAxis::K) CHECK(regions.size() > 1);
    }
  }
}

TEST_CASE("programs that no code runs are named") {
  const Machine machine = dyn::testing::round_machine();
  const ContractionShape shape = shape_of(60, 96, 256);
  const Strategy good{
      .tile_rows = 6, .tile_columns = machine.panel, .block_m = 30, .block_n = 64, .block_k = 256};
  REQUIRE(illegality(machine, shape, whole(shape, good), 2).empty());
  const auto wrong = [&](auto change) {
    Choice choice = whole(shape, good);
    change(choice, choice.program.regions.front());
    return illegality(machine, shape, choice, 2);
  };
  const auto contains = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(wrong([](Choice& c, Region&) { c.threads = 3; }), "3 of 2 threads");
  contains(wrong([](Choice& c, Region&) { c.threads = 0; }), "0 of 2 threads");
  contains(wrong([](Choice& c, Region&) { c.program.regions.clear(); }), "0 regions");
  contains(wrong([](Choice& c, Region& r) { c.program.regions.resize(9, r); }), "9 regions");
  contains(wrong([](Choice&, Region& r) { r.m = 59; }), "cover");
  contains(wrong([](Choice&, Region& r) { r.m0 = -1; }), "cover");
  contains(wrong([](Choice&, Region& r) { r.n = 1LL << 62; }), "cover");
  contains(wrong([](Choice& c, Region& r) { c.program.regions.push_back(r); }), "cover");
  contains(wrong([](Choice&, Region& r) { r.strategy.tile_rows = 99; }), "no tile of 99");
  contains(wrong([](Choice&, Region& r) { r.strategy.tile_rows = 0; }), "no tile of 0");
  contains(wrong([](Choice&, Region& r) { r.strategy.tile_columns = 7; }), "no tile of 6 x 7");
  contains(wrong([](Choice&, Region& r) { r.strategy.block_m = 0; }), "empty");
  contains(wrong([](Choice&, Region& r) { r.strategy.block_n = 33; }), "cuts a panel");
  contains(wrong([](Choice&, Region& r) { r.strategy.split_k = 0; }), "0 slices");
  contains(wrong([](Choice&, Region& r) { r.strategy.direct_b = true; }), "B cannot");
  contains(wrong([](Choice&, Region& r) { r.strategy.dot_rest = true; }), "lanes along K");
  contains(wrong([](Choice&, Region& r) { r.strategy.lanes = dyn::rkernel::LaneAxis::M; }),
           "another form");
  contains(wrong([](Choice& c, Region& r) {
             r.m = 30;
             c.program.regions.push_back(r);
             c.program.regions[1].m0 = 30;
             c.program.regions[1].strategy.split_k = 2;
           }),
           "one region alone");
}

TEST_CASE("choices of a tuning file are checked, and found by their key alone") {
  const Machine machine = dyn::testing::round_machine();
  const ContractionShape shape = shape_of(60, 96, 256);
  const Strategy strategy{
      .tile_rows = 5, .tile_columns = machine.panel, .block_m = 20, .block_n = 32, .block_k = 128};
  const auto tuning_of = [&](const std::string& sizes, const std::string& program, int threads) {
    Tuning tuning;
    tuning.file = "some.json";
    tuning.programs = {{{sizes, program}, threads, 2e-6}};
    return tuning;
  };
  const std::string sizes = nlohmann::json(shape).dump(),
                    program = nlohmann::json(whole(shape, strategy)).dump();
  const TunedChoices choices(machine, tuning_of(sizes, program, 2));
  const Choice* const found = choices.find(ChoiceKey(shape, 2));
  REQUIRE(found != nullptr);
  CHECK(found->program == whole(shape, strategy).program);
  CHECK(choices.find(ChoiceKey(shape, 1)) == nullptr);
  // One product is neither a gated one nor one of a computed factor.
  ContractionShape gated = shape, computed = shape, computed_right = shape;
  gated.right_sides = 2, computed.a_operations = 3, computed_right.b_operations = 3;
  for (const ContractionShape& other : {gated, computed, computed_right}) {
    CHECK(choices.find(ChoiceKey(other, 2)) == nullptr);
    const TunedChoices others(machine, tuning_of(nlohmann::json(other).dump(), program, 2));
    CHECK(others.find(ChoiceKey(other, 2)) != nullptr);
    CHECK(others.find(ChoiceKey(shape, 2)) == nullptr);
  }

  // The memory of choices keeps that it is tuned.
  ChoiceMemory memory(1 << 16);
  memory.insert(ChoiceKey(shape, 2), *found);
  memory.insert(ChoiceKey(shape, 1), whole(shape, strategy));
  CHECK(memory.find(ChoiceKey(shape, 2))->tuned);
  CHECK(memory.find(ChoiceKey(shape, 2))->seconds == 2e-6);
  CHECK_FALSE(memory.find(ChoiceKey(shape, 1))->tuned);

  const auto refused = [&](const Tuning& tuning, const char* part) {
    CHECK_THROWS_WITH_AS(TunedChoices(machine, tuning), doctest::Contains(part), dyn::Error);
    CHECK_THROWS_WITH_AS(TunedChoices(machine, tuning), doctest::Contains("'some.json', program 1"),
                         dyn::Error);
  };
  refused(tuning_of("{", program, 2), "parse error");
  refused(tuning_of("{}", program, 2), "key");
  refused(tuning_of(sizes, "[1]", 2), "array index 1");
  refused(tuning_of(sizes, program, 0), "threads");
  Strategy tall = strategy;
  tall.tile_rows = 1000;
  refused(tuning_of(sizes, nlohmann::json(whole(shape, tall)).dump(), 2), "no tile of 1000");
}
