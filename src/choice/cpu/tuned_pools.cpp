#include "src/choice/cpu/tuned_pools.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

#include <fmt/format.h>

#include "src/choice/calibration/json.hpp"

namespace dyn::choice {
namespace {

bool are_times(const std::vector<double>& seconds) {
  return std::ranges::all_of(seconds, [](double of) { return std::isfinite(of) && of > 0; });
}

/// "" for a kernel that can be taken.
std::string wrong_with(const Machine& machine, const BlockSpeed& speed) {
  const BlockKernel& block = speed.plan.block;
  const std::vector<std::int64_t>& depths = speed.plan.depths;
  if (machine.find_tile(block.tile_rows, block.tile_columns) == nullptr ||
      block.tile_columns % machine.panel != 0)
    return fmt::format("there is no tile of {} x {}", block.tile_rows, block.tile_columns);
  if (block.rows < 1 || block.columns < 1 || block.depth < 0 || block.rows % block.tile_rows != 0 ||
      block.columns % block.tile_columns != 0)
    return fmt::format("{} x {} x {} are no whole tiles", block.rows, block.columns, block.depth);
  if (depths.empty() || depths.front() < 1 ||
      std::ranges::adjacent_find(depths, std::greater_equal()) != depths.end())
    return "its depths do not ascend";
  if (speed.alone.size() != depths.size() || speed.together.size() != depths.size() ||
      !are_times(speed.alone) || !are_times(speed.together))
    return "it has no time for each depth, alone and together";
  return {};
}

TunedKernels kernels_of(const Machine& machine, const rkernel::Tuning& tuning,
                        const rkernel::TunedPool& pool) {
  TunedKernels kernels;
  try {
    nlohmann::json::parse(pool.kernels).get_to(kernels.kernels);
    nlohmann::json::parse(pool.shapes).get_to(kernels.sampled);
    nlohmann::json::parse(pool.operands).get_to(kernels.operands);
  } catch (const std::exception& error) { throw rkernel::broken_pool(tuning, pool, error.what()); }
  if (kernels.kernels.empty()) throw rkernel::broken_pool(tuning, pool, "it has none");
  for (std::size_t i = 0; i < kernels.kernels.size(); ++i) {
    if (const std::string wrong = wrong_with(machine, kernels.kernels[i]); !wrong.empty())
      throw rkernel::broken_pool(tuning, pool, fmt::format("number {}: {}", i + 1, wrong));
  }
  return kernels;
}

}  // namespace

std::vector<TunedKernels> tuned_kernels(const Machine& machine, const rkernel::Tuning& tuning,
                                        rkernel::Policy policy) {
  std::vector<TunedKernels> all;
  for (const rkernel::TunedPool& pool : tuning.pools) {
    if (pool.policy == policy && pool.threads == machine.threads)
      all.push_back(kernels_of(machine, tuning, pool));
  }
  return all;
}

}  // namespace dyn::choice
