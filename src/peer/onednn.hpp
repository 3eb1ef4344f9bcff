#pragma once
// Problems as oneDNN's primitives.

#include <memory>

#include "src/peer/backend.hpp"
#include "src/peer/onednn_api.hpp"

namespace dyn::peer {

/// Constant weights in the layout that the primitive chooses, reordered once.
std::unique_ptr<Runner> prepare_matmul(const Dnnl& dnnl, const Problem& problem);

}  // namespace dyn::peer
