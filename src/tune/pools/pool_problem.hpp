#pragma once
// The search for micro-kernels of a machine: what it is for, and what was measured.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/tune/pools/pool_machine.hpp"

namespace dyn::tune {

/// A pool is searched for all shapes together; each has outputs.
struct PoolProblem {
  std::shared_ptr<const PoolMachine> machine;
  std::vector<choice::ProductShape> shapes;
  std::uint64_t seed = 0;  ///< equal ones search alike
};

/// The most micro-kernels that a pool keeps, as many as a policy has without a tuner.
inline constexpr std::size_t most_pool_kernels = 40;

/// The measurements of micro-kernels, each once, in the order in which a search asked for them. A
/// search that is given the ledger of a former one asks the same and is answered at once, so that
/// it goes on where that one stopped. Not thread-safe.
class KernelLedger {
 public:
  /// Measures, or predicts; nullopt where it was told to stop.
  using Measure = std::function<std::optional<choice::PoolSpeed>(const choice::PoolPlan& plan)>;

  KernelLedger(std::vector<choice::PoolSpeed> known, Measure measure);

  /// Measures what is not known. nullopt: it was told to stop, and so is the search.
  std::optional<choice::PoolSpeed> speed_of(const choice::PoolPlan& plan);
  /// True where this search, not a former one, has asked for a micro-kernel.
  bool has_asked(const choice::PoolKernel& kernel) const;
  const std::vector<choice::PoolSpeed>& measured() const noexcept { return measured_; }

 private:
  std::vector<choice::PoolSpeed> measured_;
  std::vector<choice::PoolKernel> asked_;
  Measure measure_;
};

/// The least seconds in which the machine could compute a shape: multiply-adds at the speed of its
/// fastest tile, on all units. Positive for shapes without a reduction too.
double least_seconds(const PoolMachine& machine, const choice::ProductShape& shape);

}  // namespace dyn::tune
