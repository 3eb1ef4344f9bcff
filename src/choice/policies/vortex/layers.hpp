#pragma once
// Vortex's candidates on a CPU, bottom-up (Algorithm 2), and what each costs (section 5.2).

#include <cstddef>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"

namespace dyn::choice {

/// Layer 0, from CacheBuffer into registers: the outputs of one main loop.
struct RegisterTile {
  int rows = 1, columns = 1;
  bool operator==(const RegisterTile&) const = default;
};

/// Layer 1, one thread's: what its CacheBuffer (L2) holds at once, A, B and sums.
struct CacheBlock {
  std::int64_t m = 1, n = 1, k = 1;
  auto operator<=>(const CacheBlock&) const = default;
};

struct VortexLayers {
  std::vector<RegisterTile> tiles;
  std::vector<CacheBlock> blocks;  ///< ascending
  /// Algorithm 2's map: for each block the tiles that it is a multiple of, ascending.
  std::vector<std::vector<std::size_t>> below;
};

/// Layer 0 (FilterByISA): every tile of whole panels that the instruction set's registers hold.
/// Layer 1 (FilterByMultiples): every multiple of such a tile along M and N, and of a line of
/// floats along K, by 2^i or 3 * 2^i, that fills between a 64th and three quarters of L2. (The
/// paper gives no numbers: efficiency falls where a level is used very little or nearly full.)
VortexLayers vortex_layers(const Machine& machine);

/// Which layers are measured (section 7.4, table 7): layer 0 as in the paper, none, or layer 0 and
/// 1. Layer 1's measured costs are handed over by who measures.
enum class VortexAnalyser : std::uint8_t { Mixed, Analytical };

/// Cost of layer 0 over `k` elements of the reduction. Mixed: as its main loop was timed
/// (Machine::tiles). Analytical: equation 2 over steps of K, from the throughput of vector
/// instructions and L1's bandwidth.
double register_seconds(const Machine& machine, const RegisterTile& tile, std::int64_t k,
                        const rkernel::Factors& factors, VortexAnalyser analyser);

/// Cost of layer 1 for one block, equations 2 and 4. The temporal loop has one iteration for each
/// tile: T_load is a tile's part of A and B from beyond L2 (their moves into scratch, where they
/// are moved), T_store the block's sums, both at one thread's bandwidth while all threads read.
double block_seconds(const Machine& machine, const CacheBlock& block, const RegisterTile& tile,
                     const BlockOperands& operands, VortexAnalyser analyser);

/// A block with one of its tiles.
struct VortexBlock {
  BlockKernel block;
  std::size_t tile = 0;  ///< index in VortexLayers::tiles
  double seconds = 0;    ///< Cost of layer 1
};

/// Every entry of the map.
std::vector<VortexBlock> all_vortex_blocks(const Machine& machine, const VortexLayers& layers,
                                           const BlockOperands& operands, VortexAnalyser analyser);
/// Equation 1 at layer 1, which no shape changes: for each block the tile of least cost, of equal
/// ones the first.
std::vector<VortexBlock> best_vortex_blocks(const std::vector<VortexBlock>& all);

}  // namespace dyn::choice
