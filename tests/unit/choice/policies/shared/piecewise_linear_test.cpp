// Functions that are linear between points.

#include "src/choice/policies/shared/piecewise_linear.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/seed.hpp"

using dyn::choice::PiecewiseLinear;
using Points = std::vector<PiecewiseLinear::Point>;

TEST_CASE("linear between points and beyond, and never negative") {
  const auto line = PiecewiseLinear::through({{10, 5}, {20, 5}, {30, 25}});
  CHECK(line(10) == 5);
  CHECK(line(15) == 5);
  CHECK(line(0) == 5);
  CHECK(line(25) == doctest::Approx(15));
  CHECK(line(40) == doctest::Approx(45));
  const auto falling = PiecewiseLinear::through({{10, 5}, {20, 1}});
  CHECK(falling(5) == doctest::Approx(7));
  CHECK(falling(100) == 0);
  CHECK(PiecewiseLinear::through({{512, 4}})(128) == doctest::Approx(1));
  CHECK(PiecewiseLinear().points().empty());
}

TEST_CASE("a fit finds the pieces of what has three") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> part(0.1, 4);
  for (int round = 0; round < 50; ++round) {
    Points samples;
    for (double x = 1; x <= 5120; x *= 2) samples.push_back({x, 0});
    const std::size_t first = 1 + random() % 4, second = first + 1 + random() % 4;
    const auto truth = [&](double x) {
      const double a = samples[first].x, b = samples[second].x;
      return 3 + x + std::max(0.0, x - a) * static_cast<double>(first) +
             std::max(0.0, x - b) * static_cast<double>(second);
    };
    for (auto& sample : samples) sample.y = truth(sample.x) * 1e-9;
    const auto fit = PiecewiseLinear::fitted(samples);
    CHECK(fit.points().size() <= 4);
    for (const double x : {1.0, 3.0, 100.0, 777.0, 5120.0, 20000.0})
      CHECK(fit(x) == doctest::Approx(truth(x) * 1e-9).epsilon(1e-6));
  }
}

TEST_CASE("a fit of noise is no worse than one line, in relative errors") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  for (int round = 0; round < 50; ++round) {
    Points samples;
    for (double x = 1; x <= 1000; x *= 1.7) samples.push_back({x, (2 + x) * noise(random)});
    const auto fit = PiecewiseLinear::fitted(samples);
    double of_fit = 0, of_line = 0;
    for (const auto& sample : samples) {
      of_fit += std::pow(fit(sample.x) / sample.y - 1, 2);
      of_line += std::pow((2 + sample.x) / sample.y - 1, 2);
    }
    CHECK(of_fit <= of_line * (1 + 1e-9));
  }
  const auto two = PiecewiseLinear::fitted({{1, 2}, {2, 3}});
  CHECK(two(4) == doctest::Approx(5));
}
