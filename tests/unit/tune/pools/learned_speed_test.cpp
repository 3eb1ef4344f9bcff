// Boosted trees over features of micro-kernels rank kernels that they have not seen.

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "dyn/error.hpp"
#include "src/choice/policies/dietcode/search.hpp"
#include "src/tune/pools/boosted_trees.hpp"
#include "src/tune/pools/kernel_features.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/tune/pools/made_up_machine.hpp"

using namespace dyn;
using namespace dyn::tune;
using dyn::choice::BlockKernel;

namespace {

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

// Spearman's.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return both / std::sqrt(of_x * of_y);
}

}  // namespace

TEST_CASE("pools: boosted trees repeat what they learned, and know a step from a slope") {
  std::vector<std::vector<float>> features;
  std::vector<float> targets;
  for (int i = 0; i < 64; ++i) {
    const auto x = static_cast<float>(i % 8), y = static_cast<float>(i / 8);
    features.push_back({x, y});
    targets.push_back((x > 3 ? 100.0f : 0.0f) + 2 * y);
  }
  const BoostedTrees trees(features, targets);
  for (std::size_t i = 0; i < features.size(); ++i)
    CHECK(trees(features[i]) == doctest::Approx(targets[i]).epsilon(0.05));
  const BoostedTrees again(features, targets);
  CHECK(trees(std::vector<float>{2.5f, 6.5f}) == again(std::vector<float>{2.5f, 6.5f}));
  CHECK_THROWS_WITH_AS(BoostedTrees({{1.0f}, {2.0f}}, std::vector<float>{1.0f}),
                       doctest::Contains("XGBoost failed"), Error);
}

TEST_CASE("pools: f_MK is learned from few kernels, and ranks those that were not measured") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  const choice::Machine machine = dyn::tune::testing::small_machine(2);
  std::vector<BlockKernel> kernels;
  while (kernels.size() < 550) {
    const auto kernel = choice::random_dietcode_kernel(machine, random);
    if (kernel && std::ranges::find(kernels, *kernel) == kernels.end()) kernels.push_back(*kernel);
  }
  constexpr std::size_t learned = 300;
  std::vector<std::vector<float>> features;
  std::vector<float> targets;
  std::vector<double> predicted, measured;
  const auto speed_of = [&](const BlockKernel& kernel) {
    return std::log2(static_cast<double>(kernel.rows * kernel.columns * 512) /
                     dyn::tune::testing::made_up_seconds(machine, kernel, 512));
  };
  for (std::size_t i = 0; i < learned; ++i) {
    features.push_back(kernel_features(machine, kernels[i]));
    targets.push_back(static_cast<float>(speed_of(kernels[i])));
  }
  const BoostedTrees trees(features, targets);
  for (std::size_t i = learned; i < kernels.size(); ++i) {
    predicted.push_back(trees(kernel_features(machine, kernels[i])));
    measured.push_back(speed_of(kernels[i]));
  }
  const double correlation = rank_correlation(predicted, measured);
  MESSAGE("rank correlation on kernels that were not measured: " << correlation);
  CHECK(correlation > 0.97);
}
