#pragma once
// What a program of several regions costs.

#include <span>
#include <vector>

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// Threads that each take the next ticket as soon as they have none.
class Team {
 public:
  explicit Team(int threads);
  /// All tickets of a group, after those that were taken before.
  void take(const TicketCost& group);
  /// When the last thread is done.
  double last() const { return last_; }

 private:
  /// Tickets that all end before the last thread is done.
  void fill(const TicketCost& group);

  std::vector<double> busy_;  ///< when each thread is done
  double last_ = 0;
};

/// When the last of `threads` threads is done, if each takes the next ticket as soon as it has
/// none: tickets of all groups in their order. F_parallel of Vortex's equation 4 over tickets that
/// cost unequally.
double makespan(std::span<const TicketCost> groups, int threads);

/// Predicted time of a program on `threads` threads; of one region, contraction_cost.
double program_cost(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Program& program, int threads);

}  // namespace dyn::choice
