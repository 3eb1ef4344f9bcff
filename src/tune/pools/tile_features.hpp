#pragma once
// The features of a tile that DietCode's learned model sees.

#include <vector>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::tune {

/// FeatureExtractor(M) of DietCode's equation 2 on a GPU: the loops of a tile, from its instruction
/// out, and what each keeps in registers and shared memory, as logarithms and shares. Always as
/// many. No shape that the tile is for is among them.
std::vector<float> tile_features(const choice::GpuMachine& machine, const choice::GpuTile& tile);

}  // namespace dyn::tune
