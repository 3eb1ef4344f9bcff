#include "src/choice/cost/program_cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace dyn::choice {

Team::Team(int threads) : busy_(static_cast<std::size_t>(std::max(threads, 1)), 0) {}

void Team::take(const TicketCost& group) {
  const auto count = static_cast<std::int64_t>(busy_.size());
  const auto fitting = [&](double seconds) {
    return static_cast<std::int64_t>(group.seconds > 0 ? (last_ - seconds) / group.seconds : 0);
  };
  std::int64_t fits = 0;
  for (const double seconds : busy_) fits += fitting(seconds);
  if (fits >= group.tickets) return fill(group);
  // Threads that are done earlier take what they can until the last one is; then all take rounds,
  // which keep the differences between them.
  const std::int64_t left = group.tickets - fits;
  for (double& seconds : busy_) seconds += static_cast<double>(fitting(seconds)) * group.seconds;
  const std::int64_t rounds = left / count;
  for (double& seconds : busy_) seconds += static_cast<double>(rounds) * group.seconds;
  for (std::int64_t ticket = rounds * count; ticket < left; ++ticket)
    *std::ranges::min_element(busy_) += group.seconds;
  last_ = std::ranges::max(busy_);
}

void Team::fill(const TicketCost& group) {
  std::ranges::sort(busy_);
  std::int64_t left = group.tickets;
  for (std::size_t sharing = 1; left > 0; ++sharing) {
    // Those that are done first share the tickets until one more is done.
    const std::span<double> first(busy_.data(), sharing);
    const auto wanted = [&](double seconds) {
      return static_cast<std::int64_t>(std::ceil((busy_[sharing] - seconds) / group.seconds));
    };
    const bool is_last = sharing == busy_.size() || group.seconds <= 0;
    const std::int64_t until_next =
        is_last ? left + 1
                : std::transform_reduce(first.begin(), first.end(), std::int64_t{0}, std::plus(),
                                        wanted);
    if (until_next > left) {
      const std::int64_t for_each = left / static_cast<std::int64_t>(sharing);
      for (double& seconds : first) seconds += static_cast<double>(for_each) * group.seconds;
      for (auto ticket = left % static_cast<std::int64_t>(sharing); ticket > 0; --ticket)
        *std::ranges::min_element(first) += group.seconds;
      break;
    }
    for (double& seconds : first) seconds += static_cast<double>(wanted(seconds)) * group.seconds;
    left -= until_next;
  }
  last_ = std::max(last_, std::ranges::max(busy_));
}

double makespan(std::span<const TicketCost> groups, int threads) {
  Team team(threads);
  for (const TicketCost& group : groups) team.take(group);
  return team.last();
}

double program_cost(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Program& program, int threads) {
  if (program.regions.size() == 1)
    return contraction_cost(machine, shape, program.regions.front().strategy, threads);
  std::vector<TicketCost> groups;
  std::int64_t tickets = 0;
  for (const rkernel::Region& region : program.regions) {
    groups.push_back(ticket_cost(machine, shape, region, threads));
    tickets += groups.back().tickets;
  }
  return makespan(groups, static_cast<int>(std::min<std::int64_t>(threads, tickets)));
}

}  // namespace dyn::choice
