#pragma once
// The passes between a parsed module and its groups, in the one order in which loading and tests
// run them.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "graph/fusion/group.hpp"
#include "graph/ir/module.hpp"

namespace dyn::graph {

struct PipelineOptions {
  DecomposeOptions decompose;
  /// Left sides of products by weights become this: bf16, or i8 for bytes by rows; f32: they stay.
  DType products = DType::f32;
  FuseOptions fuse;
};

struct Pass {
  std::string_view name;
  std::string_view summary;
  void (*run)(Module& module, Fusion& fusion, const PipelineOptions& options);
};

/// In the order in which they run; the last one makes the groups.
std::span<const Pass> pipeline();
/// nullptr: no pass has that name.
const Pass* find_pass(std::string_view name);
/// "widen_halves, decompose, ...", for messages.
std::string pass_names();

/// Runs all of them, and `after`, where given, after each. Debug builds verify the module after
/// each pass. Throws Error(model) and Error(unsupported) as the passes do.
using PassObserver = std::function<void(const Pass& pass, const Module& module)>;
Fusion run_pipeline(Module& module, const PipelineOptions& options = {},
                    const PassObserver& after = {});

}  // namespace dyn::graph
