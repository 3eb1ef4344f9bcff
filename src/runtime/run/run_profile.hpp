#pragma once
// Where the time of runs goes.

#include <cstdint>
#include <vector>

namespace dyn::runtime {

/// Seconds spent in each group by the runs that were given this profile, in order of execution.
struct RunProfile {
  std::vector<double> group_seconds;
  std::int64_t runs = 0;
};

}  // namespace dyn::runtime
