#pragma once
// The layers of a model whose weights can be kept in fewer bits.

#include <map>
#include <string>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/cli/arguments.hpp"
#include "src/runtime/weights/weight_source.hpp"

namespace dyn::cli {

/// A product by a constant weight.
struct QuantizedLayer {
  std::string name;  ///< of its result
  graph::ValueId left, weight, result;
  bool is_conv = false;
  std::string kept;  ///< why it stays f32; empty: it does not
};

/// All products of f32 by weights of the graph, not of bodies. One whose name or weight fits a
/// pattern of `exclude`, in which * stands for anything, stays. Throws Error(user) for a pattern
/// that none fits.
std::vector<QuantizedLayer> layers_of(const graph::Module& module,
                                      const std::vector<std::string>& exclude);

/// Writes the chosen layers' weights as codes of 4 bits, in groups of so many along the sums. The
/// bytes of new weights go to `made`, by name. Throws Error(model) for numbers that are not finite.
void code_weights(graph::Module& module, const std::vector<QuantizedLayer>& layers, int group,
                  const runtime::WeightSources& sources, std::map<std::string, std::string>& made);

}  // namespace dyn::cli
