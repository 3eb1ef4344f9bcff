#pragma once
// The tiles of a GPU as a discrete space.

#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/tune/space.hpp"

namespace dyn::tune {

/// Engine, part of a thread, of a warp, whole warps along M and N, steps of the instruction, and
/// stages; no shape constrains them. TSCompiler, section 5.1:
///   allowed: the engine has the warp (warps_by_isa(), the registers' limit);
///   fits: a multiprocessor holds a block;
///   preferred: tensor cores where there are any, and two blocks on each multiprocessor.
/// Seeds: these tiles, as far as the space has them. `machine` must outlive it.
Space tile_space(const choice::GpuMachine& machine, const std::vector<choice::GpuKind>& kinds,
                 const std::vector<choice::GpuTile>& seeds);

/// The tile of a point of the space.
choice::GpuTile tile_at(const Values& values);

}  // namespace dyn::tune
