#pragma once
// Runs a text through all passes, and interprets the resulting problems.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "graph/fusion/group.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::testing {

struct Pipeline {
  graph::Module module;
  graph::Fusion fusion;
  std::vector<rkernel::Problem> problems;
};

/// Parses, decomposes, simplifies, fuses and lowers, with verify() after each pass.
Pipeline through_passes(const std::string& text, const graph::DecomposeOptions& options = {},
                        const graph::FuseOptions& fuse_options = {});

/// Groups with their nodes and outputs, views of outputs, and reasons; then each problem.
std::string describe(const Pipeline& pipeline);

/// Describes what is wrong with the order of groups, the outputs' bases, or values without memory;
/// empty: nothing.
std::vector<std::string> defects(const Pipeline& pipeline);

/// Inputs of these dims: floats normal, integers uniform in [-2, 2), bools even.
std::vector<reference::Array> random_inputs(const graph::Module& module,
                                            const std::vector<std::vector<std::int64_t>>& dims,
                                            std::mt19937_64& random);

/// Weights by name, the same for each call with one module's names.
reference::Array random_weight(const graph::Module& module, graph::ValueId id);

/// Interprets the problems in order; the outputs in the graph's order.
std::vector<reference::Array> interpret_all(const Pipeline& pipeline,
                                            const std::vector<reference::Array>& inputs);

/// Compares outputs: they may differ by no more than f32 rounding of the stored tensors explains.
/// Says where they do.
std::string difference(const std::vector<reference::Array>& expected,
                       const std::vector<reference::Array>& actual);

/// Runs `text` both ways at input dims from `sizes` (by symbol name) and returns the difference.
std::string compare_with_reference(const std::string& text,
                                   const std::map<std::string, std::int64_t>& sizes,
                                   std::mt19937_64& random,
                                   const graph::DecomposeOptions& options = {},
                                   const graph::FuseOptions& fuse_options = {});

}  // namespace dyn::testing
