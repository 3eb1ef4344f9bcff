// Searches over spaces like those of programs: constraints, order, and who finds more.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "dyn/error.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/tune/synthetic.hpp"

using namespace dyn::tune;
using dyn::tune::testing::least_after;
using dyn::tune::testing::program_space;
using dyn::tune::testing::ProgramTime;

namespace {

std::uint64_t seed_of_searches() { return dyn::testing::test_seed(27); }

std::vector<Trial> trials_of(Method method, const Space& space, std::uint64_t seed,
                             const ProgramTime& time, std::size_t count) {
  Session session(space, make_search(method, space, seed));
  while (session.trials().size() < count &&
         session.step(count - session.trials().size(), [&](const std::vector<Values>& points) {
           std::vector<double> values;
           for (const Values& point : points) values.push_back(time(point));
           return values;
         })) {}
  return session.trials();
}

}  // namespace

TEST_CASE("tune: every point that a search asks for is legal and new") {
  const Space space = program_space();
  const std::uint64_t seed = seed_of_searches();
  for (const MethodInfo& method : all_methods()) {
    CAPTURE(method.name);
    std::set<Values> seen;
    for (const Trial& trial : trials_of(method.method, space, seed, ProgramTime(seed), 300)) {
      const std::optional<Point> point = space.point_of(trial.values);
      REQUIRE(point);
      CHECK(space.legal(*point));
      CHECK(seen.insert(trial.values).second);
    }
    CHECK(seen.size() == 300);
  }
}

TEST_CASE("tune: a small space is searched to its end, each legal point once") {
  Space space;
  space.parameters = {{"a", {1, 2, 3, 4}}, {"b", {1, 2, 3}}, {"c", {0, 1}, false}};
  space.allowed = [](const Values& v) { return (v[0] + v[1]) % 2 == 0; };
  space.fits = [](const Values& v) { return v[0] * v[1] < 9; };
  std::size_t legal = 0;
  for (int a = 1; a <= 4; ++a) {
    for (int b = 1; b <= 3; ++b) legal += (a + b) % 2 == 0 && a * b < 9 ? 2u : 0u;
  }
  for (const MethodInfo& method : all_methods()) {
    CAPTURE(method.name);
    Session session(space, make_search(method.method, space, 1));
    const auto evaluate = [](const std::vector<Values>& points) {
      return std::vector<double>(points.size(), 1);
    };
    while (session.step(100, evaluate)) {}
    CHECK(session.trials().size() == legal);
    std::set<Values> seen;
    for (const Trial& trial : session.trials()) seen.insert(trial.values);
    CHECK(seen.size() == legal);
  }
}

TEST_CASE("tune: random points are found, and evenly, where few draws are legal") {
  Space space;
  for (int i = 0; i < 12; ++i)
    space.parameters.push_back({"p" + std::to_string(i), {0, 1, 2, 3, 4, 5, 6, 7}});
  // Of 8^12 points the 8^3 that differ in three parameters alone.
  space.allowed = [](const Values& v) {
    return std::all_of(v.begin() + 3, v.end(), [](std::int64_t each) { return each == 0; });
  };
  space.seeds = {Values(12, 0)};
  Session session(space, make_search(Method::Random, space, seed_of_searches()));
  while (session.trials().size() < 256 && session.step(1, [](const std::vector<Values>& points) {
    return std::vector<double>(points.size(), 1);
  })) {}
  REQUIRE(session.trials().size() == 256);
  for (std::size_t parameter = 0; parameter < 3; ++parameter) {
    int counts[8] = {};
    for (const Trial& trial : session.trials()) ++counts[trial.values[parameter]];
    for (const int count : counts) CHECK(std::abs(count - 32) <= 20);
  }
}

TEST_CASE("tune: equal seeds search alike, and others do not") {
  const Space space = program_space();
  const ProgramTime time(seed_of_searches());
  for (const MethodInfo& method : all_methods()) {
    CAPTURE(method.name);
    const std::vector<Trial> first = trials_of(method.method, space, 5, time, 60);
    CHECK(first == trials_of(method.method, space, 5, time, 60));
    CHECK(first != trials_of(method.method, space, 6, time, 60));
  }
}

TEST_CASE("tune: a search that was stopped anywhere goes on as if it had not been") {
  const Space space = program_space();
  const ProgramTime time(seed_of_searches());
  for (const MethodInfo& method : all_methods()) {
    CAPTURE(method.name);
    const std::vector<Trial> whole = trials_of(method.method, space, 3, time, 70);
    for (const std::size_t stop : {1u, 5u, 26u, 41u}) {
      CAPTURE(stop);
      Session resumed(space, make_search(method.method, space, 3),
                      {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(stop)});
      CHECK(resumed.trials().size() == stop);
      const auto evaluate = [&](const std::vector<Values>& points) {
        std::vector<double> values;
        for (const Values& point : points) values.push_back(time(point));
        return values;
      };
      while (resumed.trials().size() < whole.size() &&
             resumed.step(whole.size() - resumed.trials().size(), evaluate)) {}
      CHECK(resumed.trials() == whole);
    }
    std::vector<Trial> strange = whole;
    strange[2].values = {1, 1, 64, 1, 1, 0, 0, 1};
    CHECK_THROWS_WITH_AS(Session(space, make_search(method.method, space, 3), strange),
                         doctest::Contains("does not ask for the programs"), dyn::Error);
  }
}

TEST_CASE("tune: a search that is told to stop keeps what it has") {
  const Space space = program_space();
  Session session(space, make_search(Method::Bayes, space, 1));
  CHECK_FALSE(session.step(3, [](const std::vector<Values>&) { return std::vector<double>{2.0}; }));
  REQUIRE(session.trials().size() == 1);
  CHECK(session.best()->value == 2);
  CHECK_FALSE(session.step(0, [](const std::vector<Values>&) { return std::vector<double>{}; }));
  CHECK(session.trials().size() == 1);
}

// Ratios to the best of 20,000 random points; the mean over functions.
TEST_CASE("tune: bayes and evolution find more than random does") {
  const Space space = program_space();
  constexpr std::size_t evaluations = 80;
  const int functions = dyn::testing::test_rounds(12, 2);
  const std::uint64_t seed = seed_of_searches();
  double logarithms[3] = {};
  for (int i = 0; i < functions; ++i) {
    const ProgramTime time(seed + static_cast<std::uint64_t>(i));
    double best = 1e300;
    Untried untried(space);
    Random random(seed);
    for (int draw = 0; draw < 20000; ++draw) {
      Point point;
      for (const Parameter& parameter : space.parameters)
        point.push_back(static_cast<int>(random() % parameter.values.size()));
      if (space.legal(point)) best = std::min(best, time(space.values_of(point)));
    }
    for (const MethodInfo& method : all_methods()) {
      const double least = least_after(method.method, space, seed + 100, time, evaluations);
      logarithms[static_cast<int>(method.method)] += std::log(least / best) / functions;
    }
  }
  const double bayes = std::exp(logarithms[0]), evolution = std::exp(logarithms[1]),
               random = std::exp(logarithms[2]);
  MESSAGE("times the best: bayes " << bayes << ", evolution " << evolution << ", random "
                                   << random);
  CHECK(bayes < 1.05);
  CHECK(bayes - 1 < 0.5 * (random - 1));
  CHECK(evolution < random);
}
