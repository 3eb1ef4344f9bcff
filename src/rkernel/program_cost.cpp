#include "src/rkernel/program_cost.hpp"

#include <algorithm>
#include <vector>

namespace dyn::rkernel {

double makespan(std::span<const TicketCost> groups, int threads) {
  const auto count = static_cast<std::int64_t>(std::max(threads, 1));
  std::vector<double> busy(static_cast<std::size_t>(count), 0);
  for (const TicketCost& group : groups) {
    std::int64_t left = group.tickets;
    // Threads that are done earlier take what they can until the last one is; then all take rounds, which keep the differences between them.
    const double last = std::ranges::max(busy);
    for (double& seconds : busy) {
      const auto fits = static_cast<std::int64_t>(group.seconds > 0 ? (last - seconds) / group.seconds : 0);
      const std::int64_t taken = std::min(left, fits);
      seconds += static_cast<double>(taken) * group.seconds;
      left -= taken;
    }
    const std::int64_t rounds = left / count;
    for (double& seconds : busy) seconds += static_cast<double>(rounds) * group.seconds;
    for (std::int64_t ticket = rounds * count; ticket < left; ++ticket) *std::ranges::min_element(busy) += group.seconds;
  }
  return std::ranges::max(busy);
}

double program_cost(const Machine& machine, const ContractionShape& shape, const Program& program, int threads) {
  if (program.regions.size() == 1) return contraction_cost(machine, shape, program.regions.front().strategy, threads);
  std::vector<TicketCost> groups;
  std::int64_t tickets = 0;
  for (const Region& region : program.regions) {
    groups.push_back(ticket_cost(machine, shape, region, threads));
    tickets += groups.back().tickets;
  }
  return makespan(groups, static_cast<int>(std::min<std::int64_t>(threads, tickets)));
}

}  // namespace dyn::rkernel
