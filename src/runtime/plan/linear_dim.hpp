#pragma once
// Dims that can be solved for one symbol.

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/dims/dim.hpp"

namespace dyn::runtime {

/// factor * symbol + constant, with factor != 0.
struct LinearDim {
  int symbol = -1;
  std::int64_t factor = 0, constant = 0;
};
/// Nothing where the dim is not of that form.
std::optional<LinearDim> as_linear(graph::Dim dim);

/// Marks the symbols that occur in `dim`.
void mark_symbols(graph::Dim dim, std::vector<bool>& used);

}  // namespace dyn::runtime
