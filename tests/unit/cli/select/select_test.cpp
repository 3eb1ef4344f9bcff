// dynrun select: which programs are measured, how often, and the results made of it.

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/select/compare.hpp"
#include "src/cli/select/policy_list.hpp"
#include "src/cli/select/random_shapes.hpp"
#include "src/cli/select/sampling.hpp"
#include "src/cli/select/untuned_threads.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cli/input/temporary_file.hpp"

using namespace dyn;
using namespace dyn::cli;
using rkernel::Policy;

namespace {

/// Programs of known times, with noise that only adds.
struct Race {
  std::vector<double> seconds;
  double noise = 0;
  std::mt19937_64 random{testing::test_seed(7)};
  std::vector<int> samples = std::vector<int>(seconds.size());

  Sampled run(const std::vector<std::size_t>& always, const SamplingSettings& settings,
              const std::function<void()>& after_scoring = {}) {
    const auto take = [&](std::size_t program, double) {
      ++samples[program];
      return seconds[program] * (1 + noise * std::exponential_distribution<double>(1)(random));
    };
    return sample_programs(seconds.size(), always, settings, take, after_scoring);
  }
};

std::vector<double> spread(std::size_t count, double first, double factor) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i)
    seconds.push_back(first * std::pow(factor, static_cast<double>(i)));
  return seconds;
}

}  // namespace

TEST_CASE("select: policies by name") {
  CHECK(parse_policies("").size() == rkernel::all_policies().size());
  CHECK(parse_policies("vortex,dyn") == std::vector{Policy::Vortex, Policy::Dyn});
  for (const char* text : {"dyn,", ",", "Dyn", "dyn,,vortex", "dyn,abacus"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_policies(text), doctest::Contains("there are dyn, vortex, mikpoly"),
                         Error);
  }
  CHECK_THROWS_WITH_AS(parse_policies("oracle,dyn,oracle"),
                       "--policies oracle,dyn,oracle: oracle is listed twice", Error);
}

TEST_CASE("select: it says for which numbers of threads a tuning file has nothing of a policy") {
  runtime::TuningFile file;
  for (const auto& [policy, threads] :
       {std::pair{Policy::TSCompiler, 1}, {Policy::DietCode, 1}, {Policy::DietCode, 2}}) {
    file.pools.emplace_back();
    file.pools.back().policy = policy;
    file.pools.back().threads = threads;
  }
  const std::vector<Policy> policies{Policy::Dyn, Policy::TSCompiler, Policy::DietCodePadding};
  const auto lines_for = [&](const std::vector<int>& threads) {
    return untuned_threads(file, "file.json", policies, threads);
  };
  CHECK(lines_for({1}).empty());
  CHECK(lines_for({1, 2}) ==
        std::vector<std::string>{"the tuning file 'file.json' has micro-kernels of policy "
                                 "'tscompiler' for 1 threads, but not for 2: there the policy's "
                                 "own blocks are compared"});
  CHECK(lines_for({4, 2}).size() == 2);
  // Tiles of a GPU are timed on no number of threads.
  for (runtime::TunedKernelPool& pool : file.pools) pool.threads = 0;
  CHECK(lines_for({4, 2}).empty());
  file.pools.clear();
  CHECK(lines_for({1, 2}).empty());
}

TEST_CASE("select: programs far from the best are dropped, and those that a policy chose stay") {
  Race race{spread(40, 1e-5, 1.1)};
  int scored = 0;
  const Sampled sampled = race.run({39, 20}, {10, 1e-3, 1}, [&] { ++scored; });
  CHECK(sampled.best == 0);
  CHECK(scored == 5);
  CHECK(race.samples[0] == 2 + 10);
  CHECK(race.samples[39] == 2 + 10);
  CHECK(race.samples[20] == 2 + 10);
  CHECK(race.samples[2] == 2 + 2);  // 1.21: beyond half of the margin
  CHECK(race.samples[3] == 2);      // 1.33
  CHECK(sampled.programs[0].choosing.size() == 7);
  CHECK(sampled.programs[0].scoring.size() == 5);
  CHECK(sampled.programs[0].scoring_seconds() == std::optional(race.seconds[0]));
  CHECK(sampled.programs[39].scoring_seconds() == std::optional(race.seconds[39]));
  CHECK_FALSE(sampled.programs[30].scoring_seconds());
}

TEST_CASE("select: long iterations take fewer samples") {
  Race race{spread(200, 0.05, 1.004)};
  const Sampled sampled = race.run({199}, {10, 1e-3, 1});
  CHECK(sampled.best == 0);
  int all = 0;
  for (const int samples : race.samples) all += samples;
  CHECK(race.samples[0] == 2 + 4);
  CHECK(race.samples[199] == 2 + 4);
  CHECK(race.samples[190] == 1);             // more than twice the best
  CHECK(all == 200 + 49 + 25 * 2 + 25 * 2);  // none of 24 is beyond the margin
  Race longer{spread(200, 1, 1.005)};
  longer.run({}, {10, 1e-3, 1});
  all = 0;
  for (const int samples : longer.samples) all += samples;
  CHECK(all == 200 + 16 + 8 * 4);
}

TEST_CASE("select: one program alone") {
  Race race{{1e-6}};
  const Sampled sampled = race.run({}, {2, 1e-3, 1});
  CHECK(sampled.best == 0);
  CHECK(sampled.programs[0].scoring.size() == 1);
}

TEST_CASE("select: among equals the best is scored no better than the others") {
  // Choosing by the least of all samples, and scoring by the same, would favour the best of many
  // equals by several percent.
  double sum = 0;
  constexpr int shapes = 60;
  for (int shape = 0; shape < shapes; ++shape) {
    Race race{std::vector<double>(50, 1e-5), 0.05};
    race.random.seed(testing::test_seed(7) + static_cast<std::uint64_t>(shape));
    const Sampled sampled = race.run({7}, {10, 1e-3, static_cast<std::uint64_t>(shape)});
    sum += std::log(*sampled.programs[sampled.best].scoring_seconds() /
                    *sampled.programs[7].scoring_seconds());
  }
  CHECK(std::abs(sum / shapes) < 0.01);
}

TEST_CASE("select: the same seed measures in the same order") {
  const auto order = [](std::uint64_t seed) {
    std::vector<std::size_t> programs;
    sample_programs(20, {}, {2, 1e-3, seed}, [&](std::size_t program, double) {
      programs.push_back(program);
      return 1e-6;
    });
    return programs;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("select: results that another order of additions does not explain") {
  std::mt19937_64 random(testing::test_seed(7));
  std::normal_distribution<float> normal;
  std::vector<float> expected(1000);
  for (float& value : expected) value = normal(random);
  std::vector<float> actual = expected;
  CHECK_FALSE(difference(expected, actual, 768));
  for (float& value : actual) value *= 1 + 1e-6F;
  CHECK_FALSE(difference(expected, actual, 768));
  actual[731] += 0.01F;
  CHECK(difference(expected, actual, 768).value_or("") ==
        fmt::format("element 731 is {}, not {}", actual[731], expected[731]));
  actual[731] = std::numeric_limits<float>::quiet_NaN();
  CHECK(difference(expected, actual, 768));
  expected[731] = actual[731];
  CHECK_FALSE(difference({}, {}, 1));
  const float infinite[] = {std::numeric_limits<float>::infinity()}, one[] = {1};
  CHECK_FALSE(difference(infinite, infinite, 1));
  CHECK(difference(one, infinite, 1));

  Tensor tensor(DType::f32, {3});
  poison(tensor);
  for (const float value : tensor.data<float>()) CHECK(std::isnan(value));
}

TEST_CASE("select: random shapes lie in the ranges of their suite, and are of its kinds") {
  const testing::TemporaryFile constant("M N K\n1 10 20\n512 3000 20\n"),
      fresh("M N K TA TB\n5000 0 6000 T N\n");
  std::vector<OpCase> cases = read_suite(constant.path);
  cases.push_back(read_suite(fresh.path).front());
  cases.back().suite = "another";
  const std::vector<OpCase> drawn = random_shapes(cases, 300, testing::test_seed(7));
  REQUIRE(drawn.size() == 300);
  int small = 0, of_fresh = 0;
  std::set<std::int64_t> rows;
  for (const OpCase& test : drawn) {
    CHECK(test.suite == "random");
    if (test.problem.operands[1].constant) {
      const Shape weight = shape_of(test.problem.operands[1], test.values);
      CHECK(weight == Shape{test.values.at("K"), test.values.at("N")});
      CHECK(test.values.at("K") == 20);
      CHECK(test.values.at("N") >= 10);
      CHECK(test.values.at("N") <= 3000);
      CHECK(test.values.at("M") >= 1);
      CHECK(test.values.at("M") <= 512);
      rows.insert(test.values.at("M"));
      small += test.values.at("M") < 23 ? 1 : 0;  // the middle of the logarithms
    } else {
      CHECK(test.problem == cases.back().problem);
      CHECK(test.values == DimMap{{"M", 5000}, {"N", 1}, {"K", 6000}});
      ++of_fresh;
    }
  }
  CHECK(of_fresh > 50);
  CHECK(rows.size() > 40);
  CHECK(small > (300 - of_fresh) / 3);
  CHECK(small < (300 - of_fresh) * 2 / 3);
  CHECK(random_shapes(cases, 5, 1)[4].values == random_shapes(cases, 5, 1)[4].values);
  OpCase typed = cases.front();
  typed.row = {};
  CHECK_THROWS_WITH_AS(random_shapes({typed}, 1, 1), doctest::Contains("SUITE"), Error);
}

TEST_CASE("select: random problems of every kind have results, and ties hold") {
  const char* suites[] = {
      "B M N K TA TB\n1..64*2 1..128*2 =M 64 N T\n",
      "B H Q S D DV MASK\n1..4 2,12 1..64*2 64..512*2 64 32 causal\n3 7 9 2 8 8 none\n",
      R"(N IC IH IW OC KH KW SH SW PT PL PB PR G
1..8*2 3,64 16..64*2 =IH 16,64 11 1 4 1 0 0 0 0 1
2 32 5 9 64 3 3 1 1 1 1 1 1 32
3 4 112 112 6 5 5 2 2 0 0 0 0 2
)"};
  for (const std::string text : suites) {
    CAPTURE(text);
    const testing::TemporaryFile file(text);
    const std::vector<OpCase> cases = read_suite(file.path);
    const std::vector<OpCase> drawn = random_shapes(cases, 200, testing::test_seed(7));
    std::set<DimMap> different;
    for (const OpCase& test : drawn) {
      CAPTURE(describe(test));
      CHECK(element_count(result_of(test.problem, test.values).shape) > 0);
      different.insert(test.values);
      for (const auto& [column, other] : test.row.ties)
        CHECK(test.row.sizes.at(column) == test.row.sizes.at(other));
      if (test.row.sizes.contains("G"))
        CHECK(test.row.sizes.at("OC") % test.row.sizes.at("G") == 0);
    }
    CHECK(different.size() > 50);
  }
}
