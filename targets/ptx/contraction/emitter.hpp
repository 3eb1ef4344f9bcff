#pragma once
// Emits the kernel of a contraction, as device IR, by a walk over its rKernel.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/problem/slots.hpp"
#include "targets/ptx/contraction/raster.hpp"
#include "targets/ptx/contraction/vector_outputs.hpp"
#include "targets/ptx/copies/pieces.hpp"
#include "targets/ptx/tile/leaf.hpp"

namespace dyn::ptx {

/// Slots of the ints that the plan fills, after those of the problem, for one region of the output.
struct GridSlots {
  RasterSlots raster;
  int vector_outputs;  ///< 1: this launch has them (VectorOutputs::Sometimes)
  int tickets;  ///< one for each of batch * m_blocks * n_blocks tiles, plus the tickets of the
                ///< region before; blocks take them round robin
  /// Where K is split, the last tickets share tiles: the first `whole` tiles have a ticket each,
  /// and a ticket after these has `span` steps of block_k, which go from tile to tile; the last one
  /// has what is left of `shared_steps`. none: all tiles are whole.
  int whole = codegen::SlotTable::none, span = codegen::SlotTable::none,
      shared_steps = codegen::SlotTable::none;
  /// Rows and columns of the region, for each of the batch. none: all.
  int m_begin = codegen::SlotTable::none, m_end = codegen::SlotTable::none,
      n_begin = codegen::SlotTable::none, n_end = codegen::SlotTable::none;
};
/// For a program of one region.
GridSlots add_grid_slots(codegen::SlotTable& slots, const rkernel::Problem& problem, bool split);
using PairSlots = std::array<GridSlots, 2>;
/// For a program of two regions.
PairSlots add_pair_slots(codegen::SlotTable& slots, const rkernel::Problem& problem);

/// One region of a program, with the tree of its tile.
struct RegionTree {
  rkernel::RKernel kernel;
  GridSlots grid;
};

/// A tile, and how it gets its factors.
struct RegionClass {
  choice::GpuTile tile;
  Copy a = Copy::Elements, b = Copy::Elements;
  BOrder b_order = BOrder::RowsAlongN;
  bool operator==(const RegionClass&) const = default;
};

/// The code is specialised on these, besides the structure of the problem.
struct GpuContractionClass {
  choice::GpuTile tile;
  Copy a = Copy::Elements, b = Copy::Elements;
  BOrder b_order = BOrder::RowsAlongN;
  std::vector<codegen::StrideClass>
      lanes;  ///< class of each operand's stride along n, for the epilogue
  /// The second region, where the code is for programs of two: of any threads, engine and copies.
  std::optional<RegionClass> second = std::nullopt;
  bool split = false;  ///< tickets may share tiles; not with a second region
  VectorOutputs outputs = VectorOutputs::Never;
  bool operator==(const GpuContractionClass&) const = default;
};
std::string to_string(const GpuContractionClass& shape_class);

/// The class of one region's code, as if it were alone: `index` 0, or 1 where there is a second.
GpuContractionClass class_of_region(const GpuContractionClass& shape_class, std::size_t index);

/// A tile of the class as its code runs it: copies by element take the registers that fragments
/// loaded ahead would need, and wait for what they load.
choice::GpuTile emitted_tile(const GpuContractionClass& shape_class, choice::GpuTile tile);

/// Writes `symbol` (device_module.hpp) for the problem of the trees and this class. Tickets of the
/// first region come before those of the second, and blocks take them round robin through both:
/// which block idles at the end depends on all tickets together. The kernel has the threads, the
/// registers and the shared memory of the tile that needs more; threads that a region's tile has
/// not pass over it (TeamOfThreads). Columns of a region begin at a multiple of 16. Where the class
/// splits K, a pointer to the memory of a launch's blocks (rkernel::Launch::shared_bytes) follows
/// those of the operands.
void emit_gpu_contraction(llvm::Module& module, const std::string& symbol,
                          std::span<const RegionTree> regions, const codegen::SlotTable& slots,
                          const GpuContractionClass& shape_class);

}  // namespace dyn::ptx
