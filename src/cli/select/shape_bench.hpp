#pragma once
// One shape: all programs of all policies, measured, or predicted for a GPU.

#include <memory>
#include <vector>

#include "src/cli/op/peer_process.hpp"
#include "src/cli/op/suite.hpp"
#include "src/cli/select/measurements.hpp"
#include "src/cli/select/record.hpp"
#include "src/cli/select/sampling.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::cli {

struct ShapeBench {
  std::vector<rkernel::Policy> policies;
  SamplingSettings sampling;
  bool measured =
      true;  ///< false: every program's time is what dyn's cost model predicts, and nothing runs
  std::uint64_t seed = 0;
  MeasurementFile* file = nullptr;  ///< gets every program with its time; nullptr: none does
};

/// `model`: of the case's operator alone, loaded with Options::policy "oracle". The first result of
/// every program is compared with the first program's: throws Error(internal) that names the
/// program where one differs.
ShapeRecord bench_shape(const ShapeBench& bench, const std::shared_ptr<const runtime::Model>& model,
                        const OpCase& test, const std::vector<PeerProcess*>& peers);

}  // namespace dyn::cli
