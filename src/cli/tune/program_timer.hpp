#pragma once
// Runs programs of one group of a model, for its time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/op/suite.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::cli {

/// Not thread-safe.
class ProgramTimer {
 public:
  virtual ~ProgramTimer() = default;
  /// Seconds of one run of the program, the median over a slice, or over one run where that takes
  /// longer. Throws what runs throw.
  virtual double seconds(const rkernel::Candidate& program, double slice_seconds) = 0;
};

/// Times an operator's model at one shape, warm. The first result of every program is compared with
/// that of the first one: throws Error(internal) that names both where they differ by more than
/// another order of additions explains.
std::unique_ptr<ProgramTimer> make_op_timer(std::shared_ptr<const runtime::Model> model,
                                            const OpCase& test, std::size_t group,
                                            std::uint64_t seed);

/// Times a whole model at these values of its symbols: the group's part of runs of all of it, so
/// that its operands are in the caches or not as they are there.
std::unique_ptr<ProgramTimer> make_group_timer(std::shared_ptr<const runtime::Model> model,
                                               const std::vector<std::int64_t>& symbols,
                                               std::size_t group, std::uint64_t seed);

}  // namespace dyn::cli
