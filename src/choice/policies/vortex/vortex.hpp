#pragma once
// Vortex's choice among micro-kernels: equations 1, 3 and 4 above one block.

#include <memory>

#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::choice {

/// Which layers choose anew for each shape (Vortex, section 7.4). `FixedLowest` (its Static1):
/// layer 0 is the one strategy that is most often best, layer 1 is free. `FixedAll` (its Static2):
/// layers 0 and 1 are one strategy for all shapes. Most often: of the products whose M, N and K are
/// powers of two up to 4096.
enum class VortexLayersFree : std::uint8_t { All, FixedLowest, FixedAll };

/// Equations 3 and 4 at the top layer: seconds of the whole contraction by one kernel,
/// ceil(blocks / units) * Cost(L - 1).
double vortex_seconds(const MicroKernels& kernels, std::size_t kernel, const ProductShape& shape);

/// The kernel of least vortex_seconds(); of equal ones the earlier. `kernels` must outlive it.
/// for_each() visits at most 48 kernels, the cheapest first.
std::unique_ptr<const PaperPolicy> make_vortex(const MicroKernels& kernels,
                                               VortexLayersFree free = VortexLayersFree::All);

}  // namespace dyn::choice
