#pragma once
// A loaded model as the public API describes it (dyn/info.hpp).

#include <cstdint>
#include <span>
#include <vector>

#include "dyn/info.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::runtime {

/// The dims of these ports that the model names, each once, in the order of their first places.
std::vector<DimInfo> dims_of_ports(std::span<const PortInfo> ports);

/// All kernels of a model and its parts. Throws Error(user) where its structure is not known.
std::vector<KernelInfo> kernels_of(const Model& model);

/// One for each group. Throws what Model::plan does.
std::vector<KernelChoice> kernels_at(const Model& model, std::span<const std::int64_t> symbols);

}  // namespace dyn::runtime
