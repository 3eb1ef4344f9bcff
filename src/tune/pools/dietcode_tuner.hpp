#pragma once
// DietCode's auto-scheduler for a machine (section 3.3): micro-kernels for all shapes together, by
// a cost model that is learned on the way.

#include "src/tune/pools/pool_problem.hpp"

namespace dyn::tune {

struct DietCodeTunerSettings {
  std::size_t first = 16;  ///< random micro-kernels that are measured before anything is learned
  std::size_t best = 12;   ///< of each further round: the best that the search found
  std::size_t random = 4;  ///< and random ones
};

/// Rounds, until the ledger stops or nothing is left: gradient-boosted trees learn f_MK from what
/// is measured (PoolMachine::features()), k of f_OCC is fitted, an evolutionary search over the
/// shape-generic space (PoolMachine::evolved()) asks them, and the best of what it finds and some
/// random micro-kernels are measured, one block alone and while every unit has as many as it holds,
/// at dietcode_depth() of the shapes.
void search_dietcode_kernels(const PoolProblem& problem, KernelLedger& ledger,
                             const DietCodeTunerSettings& settings = {});

/// Indices of measured micro-kernels that a shape favours by equation 3, those with most votes
/// first; at most most_pool_kernels.
std::vector<std::size_t> favoured_kernels(const PoolProblem& problem,
                                          const std::vector<choice::PoolSpeed>& measured);

/// Geometric mean over shapes of the least time that the machine could take over what equation 3
/// says of the best of these.
double dietcode_share(const PoolProblem& problem, const std::vector<choice::PoolSpeed>& measured,
                      const std::vector<std::size_t>& kept);

}  // namespace dyn::tune
