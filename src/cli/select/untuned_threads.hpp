#pragma once
// Policies that are compared with a tuner's micro-kernels on some numbers of threads only.

#include <span>
#include <string>
#include <vector>

#include "src/rkernel/target/policy.hpp"
#include "src/runtime/tuning/tuning_file.hpp"

namespace dyn::cli {

/// A line for each policy whose micro-kernels the file has, but not for all of these numbers of
/// threads: there its own blocks are compared.
std::vector<std::string> untuned_threads(const runtime::TuningFile& file, const std::string& path,
                                         std::span<const rkernel::Policy> policies,
                                         std::span<const int> thread_counts);

}  // namespace dyn::cli
