#pragma once
// Time by group: as rows, and as a Chrome trace.

#include <span>
#include <string>
#include <vector>

#include "dyn/profile.hpp"
#include "src/cli/report/table.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::cli {

/// Counts the groups on each target, one row each: {"target", "groups"}.
std::vector<Row> target_rows(const runtime::Model& model);

/// A few profiled runs of `call`, one row for each group; `prefix` begins every row.
std::vector<Row> group_profile(const runtime::Model& model, runtime::CallState& call,
                               const Row& prefix);

/// One profiled run, labelled by the sizes of `prefix`.
Profile profiled_run(runtime::CallState& call, const Row& prefix);

/// Writes dyn::chrome_trace(). Throws Error(device) where the file cannot be written.
void write_trace(const std::string& path, std::span<const Profile> runs);

void append_rows(std::vector<Row>& rows, const std::vector<Row>& more);

}  // namespace dyn::cli
