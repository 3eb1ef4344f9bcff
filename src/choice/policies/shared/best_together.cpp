#include "src/choice/policies/shared/best_together.hpp"

#include <algorithm>
#include <numeric>

namespace dyn::choice {
namespace {

constexpr double least_gain = 1e-5;  ///< of the mean, for which one more is kept

double sum_of_better(const std::vector<double>& best, const std::vector<double>& others) {
  double sum = 0;
  for (std::size_t i = 0; i < best.size(); ++i) sum += std::max(best[i], others[i]);
  return sum;
}

}  // namespace

std::vector<std::size_t> best_together(const std::vector<std::vector<double>>& shares,
                                       std::size_t most) {
  std::vector<std::size_t> kept;
  if (shares.empty()) return kept;
  std::vector<double> best(shares.front().size(), 0);
  std::vector<bool> taken(shares.size());
  while (kept.size() < std::min(most, shares.size())) {
    std::size_t next = shares.size();
    double most_sum = std::accumulate(best.begin(), best.end(), 0.0) * (1 + least_gain);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (taken[i]) continue;
      const double sum = sum_of_better(best, shares[i]);
      if (sum > most_sum) most_sum = sum, next = i;
    }
    if (next == shares.size()) break;
    taken[next] = true;
    kept.push_back(next);
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::max(best[i], shares[next][i]);
  }
  return kept;
}

}  // namespace dyn::choice
