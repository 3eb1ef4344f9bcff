#pragma once
// Time by group: as rows, and as a Chrome trace.

#include <string>
#include <vector>

#include "src/cli/report/table.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::cli {

/// Counts the groups on each target, one row each: {"target", "groups"}.
std::vector<Row> target_rows(const runtime::Model& model);

/// A few profiled runs of `call`, one row for each group; `prefix` begins every row.
std::vector<Row> group_profile(const runtime::Model& model, runtime::CallState& call,
                               const Row& prefix);

/// One profiled run: its groups in order, with their seconds.
struct TraceRun {
  std::string title;
  std::vector<std::pair<std::string, double>> groups;
};
TraceRun traced_run(const runtime::Model& model, runtime::CallState& call, const Row& prefix);

/// The trace event format's complete events, one track for each run. Throws Error(device) where the
/// file cannot be written.
void write_trace(const std::string& path, const std::vector<TraceRun>& runs);

void append_rows(std::vector<Row>& rows, const std::vector<Row>& more);

}  // namespace dyn::cli
