#pragma once
// Programs of a contraction on a GPU: one tile for the whole output, whose last blocks may have
// parts of K (split K, Stream-K), or two tiles in one launch, cut along M (MikPoly's pattern II) or
// N (III).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/choice/gpu/tile_search.hpp"

namespace dyn::choice {

/// Columns of a region begin at a multiple, so that copies of 16 bytes stay aligned.
inline constexpr std::int64_t column_unit = 16;

/// A part of the output, for each of the batch, and the tile that computes it.
struct GpuRegion {
  std::size_t tile = 0;  ///< index into the candidates
  std::int64_t m0 = 0, m = 0, n0 = 0, n = 0;
  GpuSplit split = {};
  bool operator==(const GpuRegion&) const = default;
};

/// One region or two, in the order of their tickets. Without regions where no tile fits.
struct GpuProgram {
  std::vector<GpuRegion> regions;
  double seconds = 0;  ///< predicted, by gpu_program_cost()
};

/// Two candidates that one kernel has the code of; the tickets of `first`, whose blocks are larger,
/// come first, so that small ones even out the end.
struct GpuPair {
  std::size_t first = 0, second = 0;
  bool operator==(const GpuPair&) const = default;
};

/// At most 2 pairs of tiles of the first engine whose blocks have equal threads. One after the
/// other the pair is taken that most lowers the mean, over synthetic sizes, of the logarithm of the
/// least cost, until none lowers it by much. From the GPU's numbers alone; in a fixed order.
std::vector<GpuPair> gpu_pairs(const GpuMachine& machine, const std::vector<GpuTile>& tiles);

/// Seconds of a program for a contraction, as each tile would meet it.
double gpu_program_cost(const GpuMachine& machine, const GpuShapeFor& shape_for,
                        const std::vector<GpuTile>& tiles, const std::vector<GpuRegion>& regions,
                        CostBreakdown* breakdown = nullptr);

/// Calls `visit` for the programs of two regions that are considered beside the tile `alone`, which
/// is the best of one region: none where its last wave is nearly full. Cuts lie where blocks of the
/// first tile fill whole waves, or all but one.
void for_each_gpu_cut(const GpuMachine& machine, const GpuShapeFor& shape_for,
                      const std::vector<GpuTile>& tiles, const std::vector<GpuPair>& pairs,
                      const GpuTile& alone, const std::function<void(const GpuProgram&)>& visit);

/// Calls `visit` for the programs of one region in which blocks share tiles, so that the last wave,
/// or the last two, end at one time: none where blocks fill their waves. K is cut in equal parts of
/// each tile (split K), or in parts that go from tile to tile (Stream-K; Osama and others,
/// "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the
/// GPU", 2023).
void for_each_gpu_split(const GpuMachine& machine, const GpuShapeFor& shape_for,
                        const std::vector<GpuTile>& tiles,
                        const std::function<void(const GpuProgram&)>& visit);

/// The tile of select_gpu_tile(), or the cheapest program of two regions or of shared tiles where
/// that is clearly better (Calibration::gpu_worth_two_regions, gpu_worth_sharing). `split`: blocks
/// may share tiles.
GpuProgram select_gpu_program(const GpuMachine& machine, const GpuShapeFor& shape_for,
                              const std::vector<GpuTile>& tiles, const std::vector<GpuPair>& pairs,
                              bool split);
/// The same with the tile of `search`, whose candidates are `tiles`; a late tile has an index
/// behind theirs. `shape_for` has the sizes.
GpuProgram select_gpu_program(const GpuMachine& machine, const GpuShapeFor& shape_for,
                              const GpuTileSearch& search, const GpuContraction& sizes,
                              const std::vector<GpuPair>& pairs, bool split);

}  // namespace dyn::choice
