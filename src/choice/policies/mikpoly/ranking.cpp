#include "src/choice/policies/mikpoly/ranking.hpp"

#include <algorithm>

#include "src/base/rounding.hpp"

namespace dyn::choice {

double mean_throughput(const MicroKernel& kernel, std::int64_t units, int n_syn,
                       const std::function<double(std::int64_t k)>& task_seconds) {
  double outputs = 0, depths = 0;
  for (int i = 0; i <= n_syn; ++i) {
    const std::int64_t m = std::int64_t{1} << i;
    for (int j = 0; j <= n_syn; ++j) {
      const std::int64_t n = std::int64_t{1} << j;
      const std::int64_t tasks = ceil_div(m, kernel.m) * ceil_div(n, kernel.n);
      outputs += static_cast<double>(m * n) / static_cast<double>(ceil_div(tasks, units));
    }
    depths += static_cast<double>(m) / task_seconds(round_up(m, kernel.k));
  }
  return outputs * depths;
}

std::vector<std::size_t> most_of(const std::vector<double>& values, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> ranked;  // ascending: the best first
  for (std::size_t i = 0; i < values.size(); ++i) ranked.emplace_back(-values[i], i);
  const std::size_t kept = std::min(most, ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(kept));
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < kept; ++i) indices.push_back(ranked[i].second);
  return indices;
}

std::vector<std::int64_t> timed_instances(std::int64_t n_pred) {
  std::vector<std::int64_t> instances;
  for (std::int64_t n = 1; n <= n_pred;) {
    instances.push_back(n);
    const bool power = (n & (n - 1)) == 0;
    n = n == n_pred ? n + 1 : std::min(n_pred, n == 1 ? 2 : power ? n / 2 * 3 : n / 3 * 4);
  }
  return instances;
}

}  // namespace dyn::choice
