// Spaces: projection, untried points, and the process that describes a part of one.

#include <doctest/doctest.h>

#include <cmath>

#include "src/tune/gaussian_process.hpp"
#include "src/tune/moves.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/tune/synthetic.hpp"

using namespace dyn::tune;
using dyn::tune::testing::program_space;

namespace {

Point random_point(const Space& space, Random& random) {
  Point point;
  for (const Parameter& parameter : space.parameters)
    point.push_back(static_cast<int>(random() % parameter.values.size()));
  return point;
}

double squares(const Space& space, const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += std::pow(distance(space.parameters[i], a[i], b[i]), 2);
  return sum;
}

}  // namespace

TEST_CASE("tune: a projected point is allowed, and none with two other values is nearer") {
  const Space space = program_space();
  Random random(dyn::testing::test_seed(4));
  for (int round = 0; round < 50; ++round) {
    const Point point = random_point(space, random);
    const std::optional<Point> projected = project(space, point, 2);
    REQUIRE(projected);
    CHECK(space.is_allowed(*projected));
    if (space.is_allowed(point)) CHECK(*projected == point);
    const double apart = squares(space, point, *projected);
    bool one_is_enough = false;
    for (std::size_t i = 0; i < point.size(); ++i) {
      Point other = point;
      for (other[i] = 0; other[i] < static_cast<int>(space.parameters[i].values.size());
           ++other[i]) {
        if (!space.is_allowed(other)) continue;
        one_is_enough = true;
        CHECK(squares(space, point, other) >= apart - 1e-12);
      }
    }
    CHECK(one_is_enough);
  }
}

TEST_CASE("tune: a point with nothing allowed near it has no projection") {
  Space space;
  space.parameters = {{"a", {0, 1}}, {"b", {0, 1}}, {"c", {0, 1}}};
  space.allowed = [](const Values& v) { return v[0] + v[1] + v[2] == 3; };
  CHECK_FALSE(project(space, {0, 0, 0}, 2));
  CHECK_FALSE(project(space, {1, 0, 0}, 1));
  CHECK(project(space, {1, 0, 0}, 2) == Point{1, 1, 1});
  CHECK(project(space, {1, 0, 1}, 1) == Point{1, 1, 1});
}

TEST_CASE("tune: moved parameters take other values within their reach") {
  const std::vector<Parameter> parameters{
      {"a", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, {"b", {5}}, {"c", {0, 1, 2}, false}};
  Random random(dyn::testing::test_seed(5));
  std::set<int> seen;
  for (int round = 0; round < 400; ++round) {
    Point point{4, 0, 1};
    move_parameter(parameters, 0, 0.2, point, random);
    CHECK(point[0] != 4);
    CHECK(std::abs(point[0] - 4) <= 2);
    seen.insert(point[0]);
    move_parameter(parameters, 1, 1, point, random);
    CHECK(point[1] == 0);
    move_parameter(parameters, 2, 0, point, random);
    CHECK(point[2] != 1);
  }
  CHECK(seen.size() == 4);
}

TEST_CASE("tune: a process believes what it was told, and doubts what is far from it") {
  const std::vector<Parameter> parameters{
      {"a", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
      {"b", {0, 1, 2, 3, 4}}};
  // Only `a` matters.
  const auto value = [](const Point& point) { return std::sin(0.35 * point[0]); };
  std::vector<Point> points;
  std::vector<double> values;
  for (int a = 0; a <= 14; a += 2) {
    for (const int b : {a % 5, (a + 3) % 5}) {
      points.push_back({a, b});
      values.push_back(value(points.back()));
    }
  }
  const std::vector<double> mean(points.size(), 0);
  GaussianProcess process(parameters);
  for (int round = 0; round < 8; ++round) process.fit(points, values, mean);
  CHECK(process.lengths()[1] > 2 * process.lengths()[0]);
  for (const int a : {1, 5, 9, 13}) {
    const GaussianProcess::Belief belief = process.at({a, 4}, 0);
    CHECK(belief.mean == doctest::Approx(value({a, 4})).epsilon(0.08));
    CHECK(belief.deviation < 0.15);
  }
  CHECK(process.at({20, 2}, 0).deviation > 3 * process.at({6, 2}, 0).deviation);

  // Draws have the mean and the spread that the process believes in.
  Random random(dyn::testing::test_seed(6));
  const std::vector<Point> at{{7, 1}, {19, 1}};
  const std::vector<double> no_mean(at.size(), 0);
  double sums[2] = {}, sums_of_squares[2] = {};
  constexpr int draws = 2000;
  for (const std::vector<double>& drawn : process.draws(draws, at, no_mean, random)) {
    for (int i = 0; i < 2; ++i) {
      sums[i] += drawn[static_cast<std::size_t>(i)] / draws;
      sums_of_squares[i] += std::pow(drawn[static_cast<std::size_t>(i)], 2) / draws;
    }
  }
  for (int i = 0; i < 2; ++i) {
    const GaussianProcess::Belief belief = process.at(at[static_cast<std::size_t>(i)], 0);
    const double spread = std::sqrt(std::max(0.0, sums_of_squares[i] - sums[i] * sums[i]));
    CHECK(std::abs(sums[i] - belief.mean) < 0.01 + 0.1 * belief.deviation);
    CHECK(std::abs(spread - belief.deviation) < 0.02 + 0.1 * belief.deviation);
  }
}
