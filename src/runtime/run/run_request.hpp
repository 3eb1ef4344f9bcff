#pragma once
// The request for one run.

#include <cstdint>
#include <span>

#include "src/runtime/profile/run_profile.hpp"
#include "src/runtime/run/run_control.hpp"

namespace dyn::runtime {

struct RunRequest {
  RunProfile* profile = nullptr;  ///< the run adds its times; nullptr: there is none
  /// The values of all symbols, for a segment's model; empty: the shapes of the inputs give them.
  std::span<const std::int64_t> symbols = {};
  const RunControl* control = nullptr;  ///< nullptr: nothing ends the run early
};

}  // namespace dyn::runtime
