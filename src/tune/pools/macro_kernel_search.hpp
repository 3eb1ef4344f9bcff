#pragma once
// TSCompiler's tuner for a machine: the macro-kernels that its wave model chooses from.

#include "src/tune/pools/pool_problem.hpp"

namespace dyn::tune {

/// Replays of the search by trust regions (section 5.1, BayesSearch), until the ledger stops or
/// nothing is left. A macro-kernel is measured while every unit has as many as it
/// holds (T_s), at depths of the
/// shapes' reductions. Its value is the geometric mean, over the shapes of a replay, of the time
/// that the wave model (section 6) predicts with it. The first replay is for all shapes, and begins
/// from aligned tiles; a later one is for shapes that have their favourite so far in common, and
/// begins from the best for them. What one measures, all know.
void search_macro_kernels(const PoolProblem& problem, KernelLedger& ledger);

/// Indices of measured macro-kernels, those first that improve the mean most: one after the other,
/// until that gains nothing.
std::vector<std::size_t> best_macro_kernels(const PoolProblem& problem,
                                            const std::vector<choice::PoolSpeed>& measured);

/// Geometric mean over shapes of the least time that the machine could take over what the wave
/// model predicts with the best of these.
double wave_model_share(const PoolProblem& problem, const std::vector<choice::PoolSpeed>& measured,
                        const std::vector<std::size_t>& kept);

/// Seconds that the wave model predicts with a macro-kernel.
double wave_seconds_of(const PoolMachine& machine, const choice::PoolSpeed& speed,
                       const choice::ProductShape& shape);

}  // namespace dyn::tune
