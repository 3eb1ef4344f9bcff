#include "src/rkernel/program_cost.hpp"

#include <algorithm>
#include <vector>

namespace dyn::rkernel {

Team::Team(int threads) : busy_(static_cast<std::size_t>(std::max(threads, 1)), 0) {}

void Team::take(const TicketCost& group) {
  const auto count = static_cast<std::int64_t>(busy_.size());
  std::int64_t left = group.tickets;
  // Threads that are done earlier take what they can until the last one is; then all take rounds, which keep the differences between them.
  for (double& seconds : busy_) {
    const auto fits = static_cast<std::int64_t>(group.seconds > 0 ? (last_ - seconds) / group.seconds : 0);
    const std::int64_t taken = std::min(left, fits);
    seconds += static_cast<double>(taken) * group.seconds;
    left -= taken;
  }
  const std::int64_t rounds = left / count;
  for (double& seconds : busy_) seconds += static_cast<double>(rounds) * group.seconds;
  for (std::int64_t ticket = rounds * count; ticket < left; ++ticket) *std::ranges::min_element(busy_) += group.seconds;
  last_ = std::ranges::max(busy_);
}

double makespan(std::span<const TicketCost> groups, int threads) {
  Team team(threads);
  for (const TicketCost& group : groups) team.take(group);
  return team.last();
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
