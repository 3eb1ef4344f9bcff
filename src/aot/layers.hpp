#pragma once
// Layers that many models have, as texts: their code is compiled when dyn is built.

#include <string>
#include <vector>

namespace dyn::aot {

/// Products and convolutions of any sizes, by what commonly follows them, and the loops between.
std::vector<std::string> common_layers();

/// Products of constant right sides alone, which may be kept in other dtypes.
std::vector<std::string> plain_layers();

}  // namespace dyn::aot
