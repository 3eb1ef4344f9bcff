#pragma once
// A plan: everything about one shape that can be known before the data is. Immutable, shared, kept
// in the cache.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

struct Plan {
  std::vector<std::int64_t> symbols;          ///< the key: the value of each symbol of the model
  std::vector<Shape> output_shapes;           ///< in the model's order
  std::vector<rkernel::Launch> launches;      ///< one for each group, in order of execution
  std::vector<const void*> device_functions;  ///< what the device launches, one for each group;
                                              ///< none where no group runs there
  std::vector<std::size_t> arena_offsets;     ///< one for each arena buffer, in bytes
  std::size_t arena_bytes = 0;
  std::vector<std::size_t> device_offsets,
      device_bytes;  ///< one for each buffer of the device's arena: place and length
  std::size_t device_arena_bytes = 0;
  std::size_t device_shared_bytes = 0;  ///< per run: the largest of all launches on the device
  std::size_t scratch_bytes = 0;        ///< per thread: the largest of all launches
  std::size_t shared_bytes = 0;         ///< per run: the largest of all launches on the host
  int threads = 1;                      ///< the largest of all launches
  std::size_t footprint_bytes = 0;      ///< of this object, for the cache's budget

  /// Bytes that a run takes on the host beside weights and outputs.
  std::size_t intermediate_bytes() const;
  /// Sums over all launches.
  double flops() const;
  /// Those of each Group.
  std::array<double, rkernel::group_count> flops_by_group() const;
  double bytes() const;
  double predicted_seconds() const;
};

using PlanPtr = std::shared_ptr<const Plan>;

/// A launch of a group that runs on the host, in place of the plan's own.
struct GroupLaunch {
  std::size_t group = 0;
  rkernel::Launch launch;
};

/// The same plan with other launches of some groups. Threads of each are at most `threads`.
PlanPtr with_launches(const Plan& plan, std::vector<GroupLaunch> launches, int threads);
PlanPtr with_launch(const Plan& plan, std::size_t group, rkernel::Launch launch, int threads);

}  // namespace dyn::runtime
