#pragma once
// The baseline: the names of the cases that pass. Each must go on passing.

#include <string>
#include <vector>

#include "tests/conformance/report.hpp"

namespace dyn::conformance {

/// Sorted. Throws Error(device) where the file cannot be read.
std::vector<std::string> read_baseline(const std::string& path);
std::string baseline_of(const std::vector<Record>& records);

/// `most` of the baseline's cases, or fewer, evenly from its first to its last.
std::vector<std::string> sample_of(const std::vector<std::string>& baseline, std::size_t most);

}  // namespace dyn::conformance
