#pragma once
// How a problem of known sizes is divided: runs of tiles, strategies, regions, programs.

#include <cstdint>
#include <string>
#include <vector>

namespace dyn::rkernel {

/// `count` tiles of `tile` elements.
struct Run {
  std::int64_t tile = 0, count = 0;
  bool operator==(const Run&) const = default;
};

/// An axis of one layer as at most two runs of tiles (FTuner, Algorithm 2): 53 = 3 x 7 + 4 x 8.
/// Nothing is padded.
struct Tiling {
  Run first, second;
  std::int64_t tiles() const noexcept { return first.count + second.count; }
  bool operator==(const Tiling&) const = default;
};

/// As few tiles of at most `largest` as can cover `extent`, as equal as possible, larger ones
/// first. Extent 0: no tiles.
Tiling equal_tiling(std::int64_t extent, std::int64_t largest);
/// As few tiles of at most `largest` as can cover `extent`. The first run has as many tiles of
/// `largest` as possible, provided that the tiles of the second have at least half of it; where no
/// two such runs exist, equal_tiling().
Tiling tiling_of(std::int64_t extent, std::int64_t largest);
std::string to_string(const Tiling& tiling);  ///< "3 x 7 + 4 x 8"

/// The axis that runs along the lanes of layer 0: columns; rows, with the sides of the contraction
/// exchanged; or steps of K, for few columns.
enum class LaneAxis : std::uint8_t { N, M, K };

/// A strategy of a contraction: the tile of each axis at each layer, and the moves.
struct Strategy {
  int tile_rows = 1, tile_columns = 1;    ///< registers: at most this many rows
  std::int64_t block_m = 1, block_n = 1;  ///< threads: one ticket
  std::int64_t block_k = 1;               ///< L2; within one slice
  std::int64_t split_k = 1;  ///< threads: equal slices of K, whose sums are added in their order
  bool copy_a = false;       ///< move A's block to scratch as a row copy
  LaneAxis lanes = LaneAxis::N;
  bool direct_b = false;  ///< read a fresh B as it lies, where it is not packed at load
  bool dot_rest = false;  ///< lanes run along K in the columns beyond the last whole vector, which
                          ///< tickets copy as rows; with LaneAxis::N
  bool operator==(const Strategy&) const = default;
};

/// The number of slices of a reduction where it may depend on sizes alone (Options::deterministic):
/// `outputs` elements, each of `depth` terms.
std::int64_t fixed_slices(std::int64_t outputs, std::int64_t depth);

/// A part of the output with its own strategy.
struct Region {
  std::int64_t m0 = 0, m = 0, n0 = 0, n = 0;
  Strategy strategy;
  bool operator==(const Region&) const = default;
};

/// A cover of the output by regions.
struct Program {
  std::vector<Region> regions;
  bool operator==(const Program&) const = default;
};

}  // namespace dyn::rkernel
