#include "src/cli/select/untuned_threads.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dyn::cli {

std::vector<std::string> untuned_threads(const runtime::TuningFile& file, const std::string& path,
                                         std::span<const rkernel::Policy> policies,
                                         std::span<const int> thread_counts) {
  std::vector<std::string> lines;
  for (const rkernel::Policy policy : policies) {
    const std::optional<rkernel::Policy> taken = runtime::tuned_as(policy);
    std::set<int> tuned;
    for (const runtime::TunedKernelPool& pool : file.pools)
      if (pool.policy == taken) tuned.insert(pool.threads);
    if (tuned.contains(0)) continue;  // a GPU's serve any number
    std::set<int> untuned(thread_counts.begin(), thread_counts.end());
    for (const int threads : tuned) untuned.erase(threads);
    if (tuned.empty() || untuned.empty()) continue;
    lines.push_back(
        fmt::format("the tuning file '{}' has micro-kernels of policy '{}' for {} threads, but not "
                    "for {}: there the policy's own blocks are compared",
                    path, name_of(policy), fmt::join(tuned, ", "), fmt::join(untuned, ", ")));
  }
  return lines;
}

}  // namespace dyn::cli
