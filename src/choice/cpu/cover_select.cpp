#include "src/choice/cpu/cover_select.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "src/base/rounding.hpp"
#include "src/choice/cost/program_cost.hpp"

namespace dyn::choice {
namespace {

/// One cover at a time: regions in order, each cut so that the threads are done earliest after it.
class CoverBuilder {
 public:
  CoverBuilder(const Machine& machine, const ContractionShape& shape, const Choice& one)
      : machine_(machine),
        shape_(shape),
        like_(one.program.regions.front().strategy),
        threads_(one.threads) {}

  // Seconds of the cover, whose regions get their strategies; infinity as soon as it is no better
  // than `best`.
  double build(std::vector<rkernel::Region>& regions, double best) const {
    Team team(threads_);
    double seconds = 0;
    for (rkernel::Region& region : regions) {
      seconds = add(team, region) + machine_.seconds_per_wakeup;
      if (seconds >= best) return std::numeric_limits<double>::infinity();
    }
    return seconds;
  }

 private:
  double add(Team& team, rkernel::Region& region) const {
    const std::int64_t panels = ceil_div(region.n, machine_.panel);
    const std::array<std::pair<std::int64_t, std::int64_t>, 3> blocks{
        {{region.m, ceil_div(panels, threads_) * machine_.panel},
         {ceil_div(region.m, threads_), panels * machine_.panel},
         {region.m, panels * machine_.panel}}};
    double best = std::numeric_limits<double>::infinity();
    std::optional<Team> after;
    for (const auto& [block_m, block_n] : blocks) {
      rkernel::Region candidate = region;
      candidate.strategy = like_;
      candidate.strategy.block_m = block_m;
      candidate.strategy.block_n = block_n;
      Team with = team;
      with.take(ticket_cost(machine_, shape_, candidate, threads_));
      if (with.last() >= best) continue;
      best = with.last();
      region.strategy = candidate.strategy;
      after = std::move(with);
    }
    team = *std::move(after);
    return best;
  }

  const Machine& machine_;
  const ContractionShape& shape_;
  const rkernel::Strategy& like_;
  int threads_;
};

}  // namespace

std::optional<Choice> select_cover(const Machine& machine, const ContractionShape& shape,
                                   const Choice& one) {
  const rkernel::Region& whole = one.program.regions.front();
  const std::int64_t threads = one.threads;
  if (threads == 1 || whole.strategy.split_k > 1 || shape.lanes == rkernel::LaneAxis::K ||
      shape.m == 0 || shape.n == 0)
    return std::nullopt;
  const TicketCost cost = ticket_cost(machine, shape, whole, one.threads);
  const double even =
      cost.seconds * static_cast<double>(cost.tickets) / static_cast<double>(threads) +
      machine.seconds_per_wakeup;
  if (one.seconds < even * machine.fitted.worth_a_cover) return std::nullopt;
  const std::int64_t round = threads * whole.strategy.tile_rows;
  const rkernel::Cuts cuts{shape.m / round * round,
                           shape.n / machine.panel / threads * threads * machine.panel, 0};
  const CoverBuilder builder(machine, shape, one);
  Choice best = one;
  for (const rkernel::Pattern pattern :
       {rkernel::Pattern::II, rkernel::Pattern::III, rkernel::Pattern::IV, rkernel::Pattern::VI}) {
    std::vector<rkernel::Region> regions = rkernel::cover(pattern, shape.m, shape.n, cuts);
    if (regions.size() < 2) continue;
    const double seconds =
        builder.build(regions, std::min(best.seconds, one.seconds * machine.fitted.worth_regions));
    if (seconds < best.seconds) best = {{std::move(regions)}, one.threads, seconds, one.considered};
  }
  return best.seconds < one.seconds ? std::optional(std::move(best)) : std::nullopt;
}

}  // namespace dyn::choice
