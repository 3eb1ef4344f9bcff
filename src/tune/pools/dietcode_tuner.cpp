#include "src/tune/pools/dietcode_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "src/choice/policies/dietcode/kernel_cost.hpp"
#include "src/choice/policies/dietcode/search.hpp"
#include "src/tune/pools/boosted_trees.hpp"

namespace dyn::tune {
namespace {

using choice::PoolKernel;
using choice::PoolSpeed;

constexpr std::size_t ranked = 96;  ///< of one search, among which the next batch is taken
constexpr int tries_for_random = 4096;

/// f_MK as it was measured: operations in a second.
double measured_speed(const PoolMachine& machine, const PoolSpeed& speed) {
  const choice::MicroKernel block = machine.block(speed.plan.block);
  return 2.0 * static_cast<double>(block.m * block.n) *
         static_cast<double>(speed.plan.depths.front()) / speed.alone.front();
}

double cost_of(const PoolMachine& machine, const PoolSpeed& speed, double penalty,
               const choice::ProductShape& shape) {
  return choice::dietcode_cost(machine.units(), machine.block(speed.plan.block),
                               measured_speed(machine, speed), penalty, shape);
}

double penalty_of(const PoolMachine& machine, const std::vector<PoolSpeed>& measured) {
  std::vector<choice::IdleUnits> observed;
  for (const PoolSpeed& speed : measured) {
    const auto wave = static_cast<double>(machine.blocks_per_wave(speed.plan.block));
    observed.push_back({machine.units(), speed.together.front() / speed.alone.front() / wave});
  }
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
    std::vector<PoolKernel> batch;
    add_random(settings_.first, batch);
    for (std::uint64_t round = 1; !batch.empty() && measure(batch); ++round) batch = next(round);
  }

 private:
  bool measure(const std::vector<PoolKernel>& batch) {
    for (const PoolKernel& kernel : batch) {
      const std::optional<PoolSpeed> speed = ledger_.speed_of({kernel, {depth_}, true});
      if (!speed) return false;
      known_.push_back(*speed);
    }
    return true;
  }

  std::vector<PoolKernel> next(std::uint64_t round) {
    std::vector<std::vector<float>> features;
    std::vector<float> targets;
    const PoolMachine& machine = *problem_.machine;
    for (const PoolSpeed& speed : known_) {
      features.push_back(machine.features(speed.plan.block));
      targets.push_back(static_cast<float>(std::log2(measured_speed(machine, speed))));
    }
    const BoostedTrees trees(features, targets);
    const auto speed = [&](const PoolKernel& kernel) {
      return std::exp2(trees(machine.features(kernel)));
    };
    const choice::DietCodeSearch search{
        .kept = ranked, .seed = problem_.seed + round, .penalty = penalty_of(machine, known_)};
    std::vector<PoolKernel> first, batch;
    for (const std::size_t index : favoured_kernels(problem_, known_))
      first.push_back(known_[index].plan.block);
    for (const PoolKernel& kernel : machine.evolved(problem_.shapes, speed, search, first)) {
      if (batch.size() < settings_.best && is_new(kernel, batch)) batch.push_back(kernel);
    }
    add_random(settings_.random, batch);
    return batch;
  }

  void add_random(std::size_t count, std::vector<PoolKernel>& batch) {
    for (int attempt = 0; count > 0 && attempt < tries_for_random; ++attempt) {
      const auto kernel = problem_.machine->random_kernel(random_);
      if (!kernel || !is_new(*kernel, batch)) continue;
      batch.push_back(*kernel);
      --count;
    }
  }

  bool is_new(const PoolKernel& kernel, const std::vector<PoolKernel>& batch) const {
    return std::ranges::find(batch, kernel) == batch.end() &&
           std::ranges::none_of(known_,
                                [&](const PoolSpeed& speed) { return speed.plan.block == kernel; });
  }

  const PoolProblem& problem_;
  KernelLedger& ledger_;
  DietCodeTunerSettings settings_;
  std::mt19937_64 random_;
  std::int64_t depth_;
  std::vector<PoolSpeed> known_;  ///< of this search, in its order
};

}  // namespace

void search_dietcode_kernels(const PoolProblem& problem, KernelLedger& ledger,
                             const DietCodeTunerSettings& settings) {
  DietCodeTuner(problem, ledger, settings).run();
}

std::vector<std::size_t> favoured_kernels(const PoolProblem& problem,
                                          const std::vector<PoolSpeed>& measured) {
  if (measured.empty()) return {};
  const double penalty = penalty_of(*problem.machine, measured);
  std::map<std::size_t, int> votes;
  for (const choice::ProductShape& shape : problem.shapes) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double cost = cost_of(*problem.machine, measured[i], penalty, shape);
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

double dietcode_share(const PoolProblem& problem, const std::vector<PoolSpeed>& measured,
                      const std::vector<std::size_t>& kept) {
  const PoolMachine& machine = *problem.machine;
  const double penalty = penalty_of(machine, measured);
  double logarithms = 0;
  for (const choice::ProductShape& shape : problem.shapes) {
    double most = 0;
    for (const std::size_t kernel : kept)
      most = std::max(most, cost_of(machine, measured[kernel], penalty, shape));
    const double operations = 2.0 * static_cast<double>(shape.batch * shape.m * shape.n) *
                              static_cast<double>(std::max<std::int64_t>(shape.k, 1));
    logarithms += std::log(least_seconds(machine, shape) * most * machine.units() / operations);
  }
  return std::exp(logarithms / static_cast<double>(problem.shapes.size()));
}

}  // namespace dyn::tune
