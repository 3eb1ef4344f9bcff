#pragma once
// Dims as the public API describes them.

#include <span>
#include <vector>

#include "dyn/info.hpp"
#include "graph/dims/dim.hpp"

namespace dyn::graph {

DimInfo info_of(Dim dim);
std::vector<DimInfo> infos_of(std::span<const Dim> dims);

}  // namespace dyn::graph
