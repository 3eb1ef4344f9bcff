#include "src/tune/pools/macro_kernel_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "src/choice/policies/shared/piecewise_linear.hpp"
#include "src/choice/policies/tscompiler/macro_kernels.hpp"
#include "src/tune/bayes.hpp"

namespace dyn::tune {
namespace {

using choice::PoolKernel;
using choice::PoolSpeed;

constexpr std::size_t points_of_replay = 24, seeds_of_replay = 8, most_depths = 5;
constexpr double least_gain = 1e-4;  ///< of the mean, for which one more is kept
constexpr std::int64_t most_depth = 8192;

/// The least, the greatest, and quantiles between.
std::vector<std::int64_t> depths_of(const std::vector<choice::ProductShape>& shapes) {
  std::set<std::int64_t> distinct;
  for (const choice::ProductShape& shape : shapes)
    distinct.insert(std::clamp<std::int64_t>(shape.k, 1, most_depth));
  const std::vector<std::int64_t> all(distinct.begin(), distinct.end());
  if (all.size() <= most_depths) return all;
  std::vector<std::int64_t> depths;
  for (std::size_t i = 0; i < most_depths; ++i)
    depths.push_back(all[i * (all.size() - 1) / (most_depths - 1)]);
  return depths;
}

/// Logarithms of a kernel's time over the least that the machine could take, for each shape.
class Logarithms {
 public:
  explicit Logarithms(const PoolProblem& problem) : problem_(problem) {
    for (const choice::ProductShape& shape : problem.shapes)
      least_.push_back(least_seconds(*problem.machine, shape));
  }
  std::vector<double> of(const PoolSpeed& speed) const {
    std::vector<double> logarithms;
    for (std::size_t i = 0; i < least_.size(); ++i)
      logarithms.push_back(
          std::log(wave_seconds_of(*problem_.machine, speed, problem_.shapes[i]) / least_[i]));
    return logarithms;
  }

 private:
  const PoolProblem& problem_;
  std::vector<double> least_;
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The time of a pool for each shape; infinite without kernels.
class Pool {
 public:
  explicit Pool(std::size_t shapes) : best_(shapes, std::numeric_limits<double>::infinity()) {}
  double mean_with(const std::vector<double>& logarithms) const {
    double sum = 0;
    for (std::size_t i = 0; i < best_.size(); ++i) sum += std::min(best_[i], logarithms[i]);
    return sum / static_cast<double>(best_.size());
  }
  double mean() const { return mean_of(best_); }
  void add(const std::vector<double>& logarithms) {
    for (std::size_t i = 0; i < best_.size(); ++i) best_[i] = std::min(best_[i], logarithms[i]);
  }

 private:
  std::vector<double> best_;
};

class MacroKernelSearch {
 public:
  MacroKernelSearch(const PoolProblem& problem, KernelLedger& ledger)
      : problem_(problem),
        ledger_(ledger),
        logarithms_(problem),
        depths_(depths_of(problem.shapes)),
        visits_(problem.shapes.size(), 0) {}

  void run() {
    std::vector<std::size_t> group(problem_.shapes.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (std::uint64_t replay = 0;; ++replay) {
      const std::size_t before = known_.size();
      if (!search(replay, group) || known_.size() == before) return;
      group = next_group();
    }
  }

 private:
  struct Known {
    PoolKernel kernel;
    std::vector<double> logarithms;
  };

  /// False: the ledger stopped.
  bool search(std::uint64_t replay, const std::vector<std::size_t>& group) {
    const Space space =
        problem_.machine->space(replay == 0 ? problem_.machine->aligned() : best_known(group));
    BayesSearch search(space, problem_.seed + replay);
    const std::size_t enough = known_.size() + points_of_replay;
    while (known_.size() < enough) {
      const std::vector<Point> points = search.ask();
      if (points.empty()) return true;
      std::vector<double> values;
      for (const Point& point : points) {
        const Known* known = find(problem_.machine->kernel_at(space.values_of(point)));
        if (known == nullptr) return false;
        values.push_back(std::exp(mean_of(*known, group)));
      }
      search.tell(values);
    }
    return true;
  }

  /// nullptr: the ledger stopped.
  const Known* find(const PoolKernel& kernel) {
    auto known = std::ranges::find(known_, kernel, &Known::kernel);
    if (known != known_.end()) return &*known;
    const std::optional<PoolSpeed> speed = ledger_.speed_of({kernel, depths_, true});
    if (!speed) return nullptr;
    return &known_.emplace_back(kernel, logarithms_.of(*speed));
  }

  static double mean_of(const Known& known, const std::vector<std::size_t>& group) {
    double sum = 0;
    for (const std::size_t shape : group) sum += known.logarithms[shape];
    return sum / static_cast<double>(group.size());
  }

  /// Shapes that have their favourite in common; of all such groups the one that is furthest from
  /// the machine's limit for how often its shapes were searched for.
  std::vector<std::size_t> next_group() {
    std::map<std::size_t, std::vector<std::size_t>> groups;
    std::map<std::size_t, double> distances;
    for (std::size_t shape = 0; shape < visits_.size(); ++shape) {
      std::size_t favourite = 0;
      for (std::size_t i = 1; i < known_.size(); ++i) {
        if (known_[i].logarithms[shape] < known_[favourite].logarithms[shape]) favourite = i;
      }
      groups[favourite].push_back(shape);
      distances[favourite] += known_[favourite].logarithms[shape] / (1 + visits_[shape]);
    }
    const auto furthest =
        std::ranges::max_element(distances, {}, [](const auto& of) { return of.second; });
    for (const std::size_t shape : groups.at(furthest->first)) ++visits_[shape];
    return groups.at(furthest->first);
  }

  std::vector<PoolKernel> best_known(const std::vector<std::size_t>& group) const {
    std::vector<std::pair<double, const Known*>> order;
    for (const Known& known : known_) order.emplace_back(mean_of(known, group), &known);
    std::ranges::stable_sort(order, {}, &std::pair<double, const Known*>::first);
    std::vector<PoolKernel> best;
    for (std::size_t i = 0; i < std::min(order.size(), seeds_of_replay); ++i)
      best.push_back(order[i].second->kernel);
    return best;
  }

  const PoolProblem& problem_;
  KernelLedger& ledger_;
  Logarithms logarithms_;
  std::vector<std::int64_t> depths_;
  std::vector<int> visits_;   ///< of each shape: replays after the first that were for it
  std::vector<Known> known_;  ///< of this search, in its order
};

}  // namespace

double wave_seconds_of(const PoolMachine& machine, const PoolSpeed& speed,
                       const choice::ProductShape& shape) {
  std::vector<choice::PiecewiseLinear::Point> points;
  for (std::size_t i = 0; i < speed.together.size(); ++i)
    points.push_back({static_cast<double>(speed.plan.depths[i]), speed.together[i]});
  const double wave = choice::PiecewiseLinear::fitted(points)(static_cast<double>(shape.k)) +
                      machine.seconds_per_wave();
  const PoolKernel& kernel = speed.plan.block;
  return choice::wave_model_seconds(shape, machine.block(kernel), machine.blocks_per_wave(kernel),
                                    wave);
}

void search_macro_kernels(const PoolProblem& problem, KernelLedger& ledger) {
  MacroKernelSearch(problem, ledger).run();
}

double wave_model_share(const PoolProblem& problem, const std::vector<PoolSpeed>& measured,
                        const std::vector<std::size_t>& kept) {
  const Logarithms logarithms(problem);
  Pool pool(problem.shapes.size());
  for (const std::size_t kernel : kept) pool.add(logarithms.of(measured[kernel]));
  return std::exp(-pool.mean());
}

std::vector<std::size_t> best_macro_kernels(const PoolProblem& problem,
                                            const std::vector<PoolSpeed>& measured) {
  const Logarithms logarithms(problem);
  std::vector<std::vector<double>> all;
  for (const PoolSpeed& speed : measured) all.push_back(logarithms.of(speed));
  std::vector<std::size_t> kept;
  Pool pool(problem.shapes.size());
  double last = std::numeric_limits<double>::infinity();
  while (kept.size() < std::min(most_pool_kernels, all.size())) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double with = pool.mean_with(all[i]);
      if (with < least) least = with, best = i;
    }
    if (!(least < last - least_gain)) break;
    last = least;
    kept.push_back(best);
    pool.add(all[best]);
  }
  return kept;
}

}  // namespace dyn::tune
