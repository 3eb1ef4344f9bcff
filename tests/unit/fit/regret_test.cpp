#include "src/fit/regret.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "src/choice/cost/program_cost.hpp"
#include "tests/support/round_machine.hpp"

using namespace dyn::fit;
namespace choice = dyn::choice;

namespace {

/// Shapes whose programs take what the model says with `truth`.
std::vector<MeasuredShape> measured_as(const choice::Calibration& truth, int count) {
  std::mt19937_64 random(7);
  choice::Machine machine = dyn::testing::round_machine();
  machine.fitted = truth;
  const auto shared = std::make_shared<const choice::Machine>(machine);
  const choice::CandidateSet candidates = choice::make_candidates(machine);
  std::vector<MeasuredShape> shapes;
  for (int i = 0; i < count; ++i) {
    choice::ContractionShape sizes;
    sizes.m = std::uniform_int_distribution(1, 300)(random);
    sizes.n = std::uniform_int_distribution(1, 900)(random);
    sizes.k = std::uniform_int_distribution(1, 4000)(random);
    sizes.b_level = 3, sizes.b_packed = i % 2 == 0, sizes.b_row_bytes = 4 * sizes.n;
    MeasuredShape& shape = shapes.emplace_back();
    shape = {i % 3 == 0 ? "a" : "b", fmt::format("shape {}", i), 1, shared, {sizes}, {}};
    choice::for_each_choice(machine, candidates, sizes, 1, [&](const choice::Choice& program) {
      shape.programs.push_back({0, program, program.seconds});
    });
  }
  return shapes;
}

}  // namespace

TEST_CASE("choices of the model that the measurements follow are the best, others are not") {
  const choice::Calibration& truth = choice::default_calibration();
  const std::vector<MeasuredShape> shapes = measured_as(truth, 30);
  for (const SuiteRegret& suite : regrets(shapes, truth)) {
    CHECK(suite.geometric_mean == 1);
    CHECK(suite.worst == 1);
    CHECK(suite.error < 1e-12);
  }
  choice::Calibration wrong = truth;
  wrong.seconds_per_memory_run = 1e-3;
  const std::vector<SuiteRegret> suites = regrets(shapes, wrong);
  REQUIRE(suites.size() == 2);
  CHECK(suites[0].suite == "a");
  CHECK(suites[0].shapes == 10);
  CHECK(suites[1].shapes == 20);
  CHECK(overall(suites) < 1);
  CHECK(overall(suites) ==
        doctest::Approx(std::sqrt(suites[0].geometric_mean * suites[1].geometric_mean)));
}

TEST_CASE("the ratio is the best program's time over the chosen one's") {
  std::vector<MeasuredShape> shapes = measured_as(choice::default_calibration(), 1);
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < shapes[0].programs.size(); ++i) {
    if (shapes[0].programs[i].seconds < shapes[0].programs[chosen].seconds) chosen = i;
  }
  // Another one is faster in truth.
  const std::size_t other = chosen == 0 ? 1 : 0;
  shapes[0].programs[other].seconds = shapes[0].programs[chosen].seconds / 4;
  const auto suites = regrets(shapes, choice::default_calibration());
  CHECK(suites.at(0).geometric_mean == doctest::Approx(0.25));
  CHECK(suites.at(0).worst_shape == "shape 0");
}

TEST_CASE("a constant that choices need is missed when it is left out, and found again") {
  choice::Calibration truth = choice::default_calibration();
  truth.seconds_per_memory_run = 40e-6;
  const std::vector<MeasuredShape> shapes = measured_as(truth, 40);
  const std::vector<LeftOut> left = leave_out_each(shapes, truth);
  const auto found = std::ranges::find(left, "seconds_per_memory_run", &LeftOut::name);
  REQUIRE(found != left.end());
  CHECK(found->overall < 1);
  CHECK(found->worst_change < 0);
  CHECK(std::ranges::find(left, "prefetch_bytes", &LeftOut::name) == left.end());
  choice::Calibration start = truth;
  start.seconds_per_memory_run = 10e-6;
  const double before = overall(regrets(shapes, start));
  CHECK(before < 1);
  CHECK(overall(regrets(shapes, fitted_to(shapes, start, 1e-6))) > before);
}
