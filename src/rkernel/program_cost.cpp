#include "src/rkernel/program_cost.hpp"

#include <algorithm>
#include <vector>

namespace dyn::rkernel {

double makespan(std::span<const TicketCost> groups, int threads) {
  const auto count = static_cast<std::int64_t>(std::max(threads, 1));
  std::vector<double> busy(static_cast<std::size_t>(count), 0);
  for (const TicketCost& group : groups) {
    // Rounds in which every thread gets one keep the differences between threads; the rest goes where there is time.
    const std::int64_t rounds = group.tickets / count;
    for (double& seconds : busy) seconds += static_cast<double>(rounds) * group.seconds;
    for (std::int64_t ticket = rounds * count; ticket < group.tickets; ++ticket) *std::ranges::min_element(busy) += group.seconds;
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
