#pragma once
// The results of `dynrun select` for one shape.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/report/table.hpp"
#include "src/rkernel/target/policy.hpp"

namespace dyn::cli {

/// Seconds of single calls, or means of few of them where one is too short for the clock; empty
/// where it was not timed.
struct ChoosingTimes {
  std::vector<double> fresh;       ///< choosing as for a problem never seen
  std::vector<double> remembered;  ///< choosing through the memory of choices; policy dyn only
};

struct PolicyRecord {
  rkernel::Policy policy = rkernel::Policy::Dyn;
  std::int64_t candidates = 0;  ///< programs considered, each once
  std::string program;          ///< in words; "none: reason" where there is none
  std::optional<double> predicted_seconds, measured_seconds;
  ChoosingTimes choosing;

  bool is_oracle() const noexcept { return policy == rkernel::Policy::Oracle; }
};

struct ShapeRecord {
  std::string suite, shape;  ///< "M=1 N=768 K=768 threads=1"
  int threads = 1;
  std::int64_t programs = 0;             ///< programs of all policies together
  std::optional<double> oracle_seconds;  ///< none where nothing was measured
  std::optional<double> peer_seconds;    ///< seconds of the fastest peer
  std::vector<PolicyRecord> policies;    ///< in the order of --policies

  /// oracle_seconds / measured_seconds of a policy: 1 where it chose as well as the oracle. None
  /// where either is missing.
  std::optional<double> ratio(const PolicyRecord& policy) const;
};

/// A policy's row: shape, policy, candidates, program, predicted_ns, measured_ns, choose_ns.
Row csv_row(const ShapeRecord& shape, const PolicyRecord& policy);

}  // namespace dyn::cli
