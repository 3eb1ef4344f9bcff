// dynrun tune: budgets, and what a search makes of the times of programs.

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/tune/budget.hpp"
#include "src/cli/tune/problem_search.hpp"

using namespace dyn;
using namespace dyn::cli;
using rkernel::Candidate;
using rkernel::ProgramSpace;
using runtime::TunedProblem;

namespace {

/// Programs (a, b) that take (1 + distance from the best) microseconds; b says nothing where a is
/// 1. dyn's own choice is (1, 1), and its prediction of every program is wrong.
class PointSpace final : public ProgramSpace {
 public:
  const std::vector<Axis>& axes() const override { return axes_; }
  bool allows(const Point& point) const override { return point[0] > 1 || point[1] == 1; }
  bool fits(const Point&) const override { return true; }
  double unmet(const Point&) const override { return 0; }
  std::vector<Point> seeds() const override { return {{1, 1}, {2, 2}}; }
  Candidate program(const Point& point) const override { return program_of(point); }

  static Candidate program_of(const Point& point) {
    Candidate candidate;
    candidate.program = fmt::format("a {} b {}", point[0], point[1]);
    candidate.launch.ints = point;
    candidate.launch.predicted_seconds = 1e-6 * static_cast<double>(100 - point[0]);
    candidate.model_input = [point] {
      return rkernel::ModelInput{R"({"size":7})", fmt::format("[{},{}]", point[0], point[1])};
    };
    return candidate;
  }

 private:
  std::vector<Axis> axes_{{"a", {1, 2, 3, 4, 5, 6, 7, 8}}, {"b", {1, 2, 3, 4, 5, 6, 7, 8}}};
};

class PointKernel final : public rkernel::Kernel {
 public:
  rkernel::Launch plan(const rkernel::PlanRequest&) const override { return {}; }
  rkernel::Choices choices(const rkernel::PlanRequest&, rkernel::Policy) const override {
    rkernel::Choices choices;
    choices.candidates = {PointSpace::program_of({1, 1})};
    return choices;
  }
  std::unique_ptr<const ProgramSpace> program_space(const rkernel::PlanRequest&) const override {
    return std::make_unique<const PointSpace>();
  }
  std::string explain(const rkernel::PlanRequest&) const override { return {}; }
  std::string target_name() const override { return "points"; }
  std::string describe() const override { return {}; }
};

/// Counts how often each program ran.
class PointTimer final : public ProgramTimer {
 public:
  explicit PointTimer(double best_a = 6, double gain = 1) : best_a_(best_a), gain_(gain) {}
  double seconds(const Candidate& program, double) override {
    ++runs[program.program];
    const double a = static_cast<double>(program.launch.ints[0]),
                 b = static_cast<double>(program.launch.ints[1]);
    return 1e-6 * (20 + gain_ * (std::abs(a - best_a_) + std::abs(b - 3) - 2));
  }
  std::map<std::string, int> runs;

 private:
  double best_a_, gain_;
};

SearchSettings settings_of(std::int64_t programs, tune::Method method = tune::Method::Bayes) {
  SearchSettings settings;
  settings.method = method;
  settings.budget.programs = programs;
  settings.rounds = 4;
  settings.stops = [] { return false; };
  settings.progress = [] {};
  return settings;
}

TunedProblem search_for(const SearchSettings& settings, ProgramTimer* timer,
                        const TunedProblem* known = nullptr) {
  const PointKernel kernel;
  ProblemSearch search(settings, "points", kernel, {{}, 2}, timer, known);
  search.run();
  return search.problem();
}

}  // namespace

TEST_CASE("tune: budgets in programs and in time") {
  CHECK(*parse_budget("200").programs == 200);
  CHECK_FALSE(parse_budget("200").seconds);
  CHECK(*parse_budget("30s").seconds == 30);
  CHECK(*parse_budget("1.5m").seconds == 90);
  CHECK(*parse_budget("2h").seconds == 7200);
  CHECK_FALSE(parse_budget("2h").programs);
  for (const char* text : {"", "0", "0s", "-1", "-1s", "x", "1x", "1.5", "nan", "inf", "1e99",
                           "1e99s", "10 s", "s", "1ss"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_budget(text), doctest::Contains("give a number of programs"), Error);
  }
}

TEST_CASE("tune: the best program is kept, whatever was predicted") {
  for (const tune::MethodInfo& method : tune::all_methods()) {
    CAPTURE(method.name);
    PointTimer timer;
    // All of the space.
    const TunedProblem problem = search_for(settings_of(100, method.method), &timer);
    CHECK(problem.trials.size() == 57);
    CHECK(problem.scored);
    CHECK(problem.threads == 2);
    CHECK(problem.sizes == R"({"size":7})");
    CHECK(problem.own->words == "a 1 b 1");
    CHECK(problem.own->seconds == doctest::Approx(25e-6));
    CHECK(problem.best->words == "a 6 b 3");
    CHECK(problem.best->seconds == doctest::Approx(18e-6));
    REQUIRE(problem.program);
    CHECK(problem.program->program == "[6,3]");
    for (const TunedProblem::Trial& trial : problem.trials) {
      const double a = static_cast<double>(trial.point[0]), b = static_cast<double>(trial.point[1]);
      CHECK(trial.ratio == doctest::Approx((18 + std::abs(a - 6) + std::abs(b - 3)) / 25));
    }
  }
}

TEST_CASE("tune: a program that is hardly better is not kept") {
  PointTimer timer(6, 0.01);
  const TunedProblem problem = search_for(settings_of(100), &timer);
  CHECK(problem.best->words == "a 6 b 3");
  CHECK(problem.best->seconds < problem.own->seconds);
  CHECK_FALSE(problem.program);
}

TEST_CASE("tune: predictions alone are compared without a timer") {
  const TunedProblem problem = search_for(settings_of(100), nullptr);
  CHECK(problem.scored);
  CHECK(problem.own->seconds == doctest::Approx(99e-6));
  CHECK(problem.best->seconds == doctest::Approx(92e-6));
  REQUIRE(problem.program);
  CHECK(problem.program->program.starts_with("[8,"));
}

TEST_CASE("tune: a search in parts tries what one in one piece tries, and runs nothing twice") {
  PointTimer whole_timer, timer;
  const TunedProblem whole = search_for(settings_of(40), &whole_timer);
  const TunedProblem part = search_for(settings_of(13), &timer);
  CHECK(part.trials.size() == 13);
  const std::map<std::string, int> runs = timer.runs;
  const TunedProblem again = search_for(settings_of(13), &timer, &part);
  CHECK(timer.runs == runs);  // nothing was left to do
  CHECK(again.own == part.own);
  const TunedProblem rest = search_for(settings_of(40), &timer, &part);
  REQUIRE(rest.trials.size() == 40);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(rest.trials[i].point == whole.trials[i].point);
    CHECK(rest.trials[i].ratio == doctest::Approx(whole.trials[i].ratio));
  }
  TunedProblem strange = part;
  strange.axes.back() = "c";
  CHECK_THROWS_WITH_AS(search_for(settings_of(40), &timer, &strange),
                       doctest::Contains("the file has another problem of that name"), Error);
  strange = part;
  strange.sizes = R"({"size":8})";
  CHECK_THROWS_WITH_AS(search_for(settings_of(40), &timer, &strange),
                       doctest::Contains("in resuming points"), Error);
  strange = part;
  std::swap(strange.trials[0], strange.trials[5]);
  CHECK_THROWS_WITH_AS(search_for(settings_of(40), &timer, &strange),
                       doctest::Contains("does not ask for the programs"), Error);
}

TEST_CASE("tune: a search that is stopped keeps its best, and is scored when it goes on") {
  PointTimer timer;
  SearchSettings settings = settings_of(100);
  int left = 70;
  settings.stops = [&] { return left-- <= 0; };
  const TunedProblem stopped = search_for(settings, &timer);
  CHECK(stopped.trials.size() > 2);
  CHECK(stopped.trials.size() < 57);
  CHECK_FALSE(stopped.scored);
  REQUIRE(stopped.best);
  double least = 1;
  for (const TunedProblem::Trial& trial : stopped.trials) least = std::min(least, trial.ratio);
  CHECK(stopped.best->seconds / stopped.own->seconds == doctest::Approx(least));
  const auto trials = static_cast<std::int64_t>(stopped.trials.size());
  const TunedProblem scored = search_for(settings_of(trials), &timer, &stopped);
  CHECK(scored.trials.size() == stopped.trials.size());
  CHECK(scored.scored);
}
