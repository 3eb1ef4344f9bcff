#pragma once
// From a parsed module to groups and their kernels.

#include <cstddef>
#include <memory>
#include <vector>

#include "dyn/graph.hpp"
#include "graph/fusion/group.hpp"
#include "graph/ir/module.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/runtime/load/model_dump.hpp"

namespace dyn::runtime {

/// Fused groups in order of execution; the vectors have an entry for each.
struct CompiledGroups {
  graph::Fusion fusion;
  std::vector<rkernel::Problem> problems;
  std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
  std::vector<rkernel::Space> spaces;  ///< where each kernel runs

  /// Indices of the groups that run there.
  std::vector<std::size_t> in(rkernel::Space space) const;
};

struct CompiledModule {
  graph::Module module;  ///< as the passes left it
  CompiledGroups groups;
};

/// Runs the passes, and lets the target make all kernels. Adds times and counts to `report`. Throws
/// what passes and targets throw, Error(internal) where the target leaves a group without a kernel.
CompiledModule compile(graph::Module module, rkernel::Target& target, const ModelDump& dump,
                       LoadReport& report);

}  // namespace dyn::runtime
