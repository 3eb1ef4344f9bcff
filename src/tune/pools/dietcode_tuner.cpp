#include "src/tune/pools/dietcode_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "src/choice/policies/dietcode/kernel_cost.hpp"
#include "src/choice/policies/dietcode/search.hpp"
#include "src/tune/pools/boosted_trees.hpp"
#include "src/tune/pools/kernel_features.hpp"

namespace dyn::tune {
namespace {

using choice::BlockKernel;
using choice::BlockSpeed;
using choice::Machine;

constexpr std::size_t ranked = 96;  ///< of one search, among which the next batch is taken
constexpr int tries_for_random = 4096;

/// f_MK as it was measured: operations in a second.
double measured_speed(const BlockSpeed& speed) {
  const BlockKernel& block = speed.plan.block;
  return 2.0 * static_cast<double>(block.rows * block.columns) *
         static_cast<double>(speed.plan.depths.front()) / speed.alone.front();
}

double penalty_of(const Machine& machine, const std::vector<BlockSpeed>& measured) {
  std::vector<choice::IdleUnits> observed;
  for (const BlockSpeed& speed : measured)
    observed.push_back(
        {machine.threads, speed.together.front() / speed.alone.front() / machine.threads});
  return choice::fitted_penalty(observed);
}

class DietCodeTuner {
 public:
  DietCodeTuner(const PoolProblem& problem, KernelLedger& ledger,
                const DietCodeTunerSettings& settings)
      : problem_(problem),
        ledger_(ledger),
        settings_(settings),
        random_(problem.seed),
        depth_(choice::dietcode_depth(problem.shapes)) {}

  void run() {
    std::vector<BlockKernel> batch;
    add_random(settings_.first, batch);
    for (std::uint64_t round = 1; !batch.empty() && measure(batch); ++round) batch = next(round);
  }

 private:
  bool measure(const std::vector<BlockKernel>& batch) {
    for (const BlockKernel& kernel : batch) {
      const std::optional<BlockSpeed> speed = ledger_.speed_of({kernel, {depth_}, true});
      if (!speed) return false;
      known_.push_back(*speed);
    }
    return true;
  }

  std::vector<BlockKernel> next(std::uint64_t round) {
    std::vector<std::vector<float>> features;
    std::vector<float> targets;
    for (const BlockSpeed& speed : known_) {
      features.push_back(kernel_features(problem_.machine, speed.plan.block));
      targets.push_back(static_cast<float>(std::log2(measured_speed(speed))));
    }
    const BoostedTrees trees(features, targets);
    const choice::KernelSpeed speed = [&](const BlockKernel& kernel) {
      return std::exp2(trees(kernel_features(problem_.machine, kernel)));
    };
    const choice::DietCodeSearch search{.kept = ranked,
                                        .seed = problem_.seed + round,
                                        .penalty = penalty_of(problem_.machine, known_)};
    std::vector<BlockKernel> first, batch;
    for (const std::size_t index : favoured_kernels(problem_, known_))
      first.push_back(known_[index].plan.block);
    const choice::EvolvedKernels found =
        choice::evolved_kernels(problem_.machine, problem_.shapes, speed, search, first);
    for (const BlockKernel& kernel : found.kernels) {
      if (batch.size() < settings_.best && is_new(kernel, batch)) batch.push_back(kernel);
    }
    add_random(settings_.random, batch);
    return batch;
  }

  void add_random(std::size_t count, std::vector<BlockKernel>& batch) {
    for (int attempt = 0; count > 0 && attempt < tries_for_random; ++attempt) {
      const auto kernel = choice::random_dietcode_kernel(problem_.machine, random_);
      if (!kernel || !is_new(*kernel, batch)) continue;
      batch.push_back(*kernel);
      --count;
    }
  }

  bool is_new(const BlockKernel& kernel, const std::vector<BlockKernel>& batch) const {
    return std::ranges::find(batch, kernel) == batch.end() &&
           std::ranges::none_of(
               known_, [&](const BlockSpeed& speed) { return speed.plan.block == kernel; });
  }

  const PoolProblem& problem_;
  KernelLedger& ledger_;
  DietCodeTunerSettings settings_;
  std::mt19937_64 random_;
  std::int64_t depth_;
  std::vector<BlockSpeed> known_;  ///< of this search, in its order
};

}  // namespace

void search_dietcode_kernels(const PoolProblem& problem, KernelLedger& ledger,
                             const DietCodeTunerSettings& settings) {
  DietCodeTuner(problem, ledger, settings).run();
}

std::vector<std::size_t> favoured_kernels(const PoolProblem& problem,
                                          const std::vector<BlockSpeed>& measured) {
  if (measured.empty()) return {};
  const double penalty = penalty_of(problem.machine, measured);
  std::map<std::size_t, int> votes;
  for (const choice::ProductShape& shape : problem.shapes) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double cost = choice::dietcode_cost(problem.machine, measured[i].plan.block,
                                                measured_speed(measured[i]), penalty, shape);
      if (cost > most) most = cost, best = i;
    }
    ++votes[best];
  }
  std::vector<std::pair<int, std::size_t>> order;
  for (const auto& [kernel, count] : votes) order.emplace_back(-count, kernel);
  std::ranges::sort(order);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < std::min(order.size(), most_pool_kernels); ++i)
    kept.push_back(order[i].second);
  return kept;
}

double dietcode_share(const PoolProblem& problem, const std::vector<BlockSpeed>& measured,
                      const std::vector<std::size_t>& kept) {
  const double penalty = penalty_of(problem.machine, measured);
  double logarithms = 0;
  for (const choice::ProductShape& shape : problem.shapes) {
    double most = 0;
    for (const std::size_t kernel : kept)
      most =
          std::max(most, choice::dietcode_cost(problem.machine, measured[kernel].plan.block,
                                               measured_speed(measured[kernel]), penalty, shape));
    const double operations = 2.0 * static_cast<double>(shape.batch * shape.m * shape.n) *
                              static_cast<double>(std::max<std::int64_t>(shape.k, 1));
    logarithms += std::log(least_seconds(problem.machine, shape) * most * problem.machine.threads /
                           operations);
  }
  return std::exp(logarithms / static_cast<double>(problem.shapes.size()));
}

}  // namespace dyn::tune
