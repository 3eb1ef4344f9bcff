#pragma once
// Tells Linux perf the names of generated functions.

#include <string>

namespace dyn::codegen {

/// Appends one line to /tmp/perf-PID.map, which `perf report` reads; failures are ignored, as it is
/// a diagnostic.
void append_to_perf_map(const std::string& object, const std::string& symbol,
                        const std::string& name, const void* address);

}  // namespace dyn::codegen
