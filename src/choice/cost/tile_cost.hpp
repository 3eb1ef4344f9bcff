#pragma once
// What one register tile of a contraction waits for: the terms of layer L1.

#include "src/choice/cost/block_sizes.hpp"

namespace dyn::choice {

/// Addresses this far apart share a set of the nearest cache.
inline constexpr std::int64_t l1_way_bytes = 4096;

/// How often A is fetched: once, or more often where its rows fall into few cache sets.
double conflict_factor(const Machine& machine, const ContractionShape& shape, double rows);

/// Seconds to read `bytes` by one of `active` threads from a level; the nearest is part of layer
/// 0's measurement.
double read_seconds(const Machine& machine, double bytes, std::size_t level, int active);

/// Columns of one tile. With lanes along K all columns are one tile.
double tile_columns(const ContractionShape& shape, const BlockSizes& sizes);

/// What a tile waits for rows of A that were evicted.
double conflict_seconds(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, const BlockSizes& sizes, int active);

/// The time of one tile's call of its main loop.
double call_seconds(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy, const BlockSizes& sizes);

/// The time of a tile's epilogue, and of its outputs' way to where they belong.
double store_seconds(const Machine& machine, const ContractionShape& shape, const BlockSizes& sizes,
                     double rows, double outputs, double register_tile, int active);

/// The share of `seconds`, which only blocks with the last columns take, in the mean block.
double of_last_columns(const BlockSizes& sizes, double seconds);

/// How much longer the mean tile takes where dots compute the last columns. Only the last column
/// tile has them; where the rows are packed, only its last block of K, over all of K.
double mean_rest_seconds(const Machine& machine, const ContractionShape& shape,
                         const BlockSizes& sizes);

/// What dots for the last columns spare at most.
double spared_by_rest(const Machine& machine, const ContractionShape& shape,
                      const BlockSizes& sizes);

/// The terms of layer L1 (Vortex, equations 2 to 4): loads and stores of one tile, whose
/// multiply-adds take `register_tile` seconds. The load is that of the whole tile.
LayerTerms tile_terms(const Machine& machine, const ContractionShape& shape,
                      const rkernel::Strategy& strategy, const BlockSizes& sizes,
                      double register_tile, int active);

}  // namespace dyn::choice
