#pragma once
// Loop problems on a GPU and their shape classes: the part that is decided at load, and the part
// that a launch decides.

#include <memory>
#include <string>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

/// Slots for one parallel axis: how many digits a point has along it (the axis's extent; of the
/// lane axis as many vectors as its elements fill), and the number's divider.
struct DigitSlots {
  int axis, count, multiplier, shift;
};

/// A problem with its slots. Kernels and the sources of their code share it.
struct LoopProblem {
  explicit LoopProblem(const rkernel::Problem& source);
  LoopProblem(const LoopProblem&) = delete;
  LoopProblem& operator=(const LoopProblem&) = delete;

  bool lanes_reduced() const;  ///< lanes run along a reduction axis
  graph::Dim lane_extent() const;

  rkernel::Problem problem;
  codegen::SlotTable slots;
  int points_slot = 0;  ///< points of the parallel axes
  int tickets_slot =
      0;  ///< tickets of as many points as a block has units; blocks take them round robin
  std::vector<DigitSlots> digits;  ///< of the parallel axes, in the order of the grid's loops
};

/// Where operands lie across the lanes, as a transposition reads, a thread takes a square of as
/// many elements along this axis as along the lane axis. It loads vectors along the axis where
/// these operands have their elements side by side, and turns them in its registers.
struct Turn {
  int axis = -1;  ///< -1: nothing is turned
  /// Neighbouring threads along it, whose vectors together are a whole sector; a power of two.
  int threads = 1;

  bool exists() const { return axis >= 0; }
};

/// Threads of every block of a loop kernel.
inline constexpr int loop_threads = 256;

/// One specialisation of a problem's code. The tree has the layers registers, (warp,) block, grid;
/// with lanes along a reduction axis the second one has as many threads as share a row, and the
/// loop along the lanes. The tree's vector width is that of a thread's vectors along the lane axis.
struct LoopClass {
  std::vector<codegen::StrideClass>
      lane_classes;  ///< class of each operand's stride along the lane axis
  rkernel::RKernel tree;
  std::string name;  ///< "points", "kept rows of 1 warp in vectors of 4", "wide rows of 8 warps"
  std::string key;   ///< everything that the code depends on

  /// Threads that compute one point of the parallel axes together.
  int row_threads = 1;
  /// Vectors of its row that each thread keeps in registers from pass to pass; no row has more
  /// elements than all of them. 0: every pass reads the row.
  int kept = 0;
  bool narrow = true;  ///< indices, and all distances within operands, have 31 bits
  Turn turn;
  bool tails = false;  ///< the extent of the lane axis may be no multiple of the vectors

  int width() const { return tree.vector_width; }
};

/// Where lanes run along a parallel axis, a thread takes one point, a vector of neighbours, or a
/// square.
/// Otherwise rows of one warp and, where rows may be far longer than its lanes, rows of a block;
/// short ones are kept in registers where several passes read them.
/// Strides along the lane axis that are not proven 0 or 1 are Any, but where vectors need them to
/// be 1. One class, the last, is right for every launch.
std::vector<LoopClass> loop_classes(const LoopProblem& problem);

/// The passes of rows that are kept: each value that several passes need is computed in the first.
codegen::LoopPasses passes_that_keep(const LoopProblem& problem,
                                     std::span<const codegen::StrideClass> lane_classes);

/// True where a launch with these numbers may run the class.
bool fits(const LoopProblem& problem, const LoopClass& loop_class,
          std::span<const std::int64_t> ints);

}  // namespace dyn::ptx
