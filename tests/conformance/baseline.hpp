#pragma once
// The names of the cases that pass: none of them may stop.

#include <string>
#include <vector>

#include "tests/conformance/report.hpp"

namespace dyn::conformance {

/// Sorted. Throws Error(device) where the file cannot be read.
std::vector<std::string> read_baseline(const std::string& path);
std::string baseline_of(const std::vector<Record>& records);

/// `most` cases of those that the baseline names, or fewer, evenly from its first to its last.
std::vector<std::string> sample_of(const std::vector<std::string>& baseline, std::size_t most);

}  // namespace dyn::conformance
