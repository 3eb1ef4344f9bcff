#pragma once
// Loop problems and their shape classes: what is decided at load, and what a launch decides.

#include <optional>
#include <string>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/cpu/loop/window_steps.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// Slots of a reduction whose points are cut in slices (slices.hpp). One slice: there is no second
/// stage.
struct SliceSlots {
  struct Axis {
    int axis = 0;
    int chunk = 0,
        chunks = 0;  ///< points of the axis in one slice, and how many slices that makes along it
  };
  std::vector<Axis> axes;  ///< all reduction axes
  int slices = 0;          ///< in all
  int slice_elements = 0;  ///< from one slice's partial results to the next one's, of one reduction
  int row_elements = 0;    ///< from one point of the parallel axes without lanes to the next one
  int merge_chunk = 0, merge_chunks = 0;  ///< of the second stage, as chunk and chunks of the
                                          ///< first; lanes along a parallel axis
};

/// A problem with its slots and its tree. Kernels and the sources of their code share it.
struct LoopProblem {
  LoopProblem(const rkernel::Problem& source, const codegen::Isa& isa);
  LoopProblem(const LoopProblem&) = delete;
  LoopProblem& operator=(const LoopProblem&) = delete;

  /// Rows of a reduction that are added at once where lanes run along a parallel axis: so often are
  /// accumulators loaded and stored less.
  static constexpr int rows_at_once = 8;

  bool lanes_reduced() const;  ///< lanes run along a reduction axis
  bool reduces() const;        ///< has reduction axes
  /// The parallel axis of which a ticket has a chunk, besides the lanes': the transposed one or
  /// that of `windows`; -1: there is none.
  int steps_axis() const { return windows ? windows->axis : transposed_axis; }

  rkernel::Problem problem;
  codegen::SlotTable slots;
  int chunk_slot = 0;   ///< elements of the lane axis in one ticket (lanes along a parallel axis)
  int chunks_slot = 0;  ///< tickets along the lane axis
  int stream_slot = 0;  ///< not 0: stores go past the caches
  int grouped_slot =
      0;  ///< not 0: rows of a reduction are added rows_at_once at a time, else one after the other
  int ahead_slot =
      0;  ///< rows between the one that is read and the one that is asked for; 0: none is
  int far_ahead_slot = 0;  ///< the same, where lanes are reduced, for rows that would push too much
                           ///< out of the first cache
  /// A parallel axis, not the lanes', along which some operands that are read lie one element after
  /// the other; -1: there is none. Its blocks are transposed in registers.
  int transposed_axis = -1;
  std::vector<int> transposed_operands;
  /// The axis before the lanes', where an operand's lanes are stored apart and its elements lie
  /// between them: it is walked behind the lanes. -1: there is none.
  int axis_between = -1;
  /// Windows whose neighbours are computed together, where there are any.
  std::optional<WindowSteps> windows;
  int steps_chunk_slot = 0,
      steps_chunks_slot = 0;  ///< as chunk_slot and chunks_slot, of steps_axis()
  /// Bytes of an element in scratch, and in the memory of partial results: smaller elements are
  /// widened there, so that a vector may begin at any element.
  int scratch_element_bytes = 4;
  std::optional<SliceSlots> sliced;  ///< where some sizes make more than one slice
  codegen::Isa isa;
  rkernel::RKernel tree;
};

/// Whether lanes run along a parallel axis and each has few elements to reduce, as many in all
/// shapes: a window.
bool reduces_window(const rkernel::Problem& problem);
/// Whether a window's reduction sums products of floating-point numbers: where an ISA can, they are
/// fused with the additions, as in main loops.
bool sums_products(const rkernel::Problem& problem, int reduction);
/// How many accumulators of a window's reductions registers hold.
inline constexpr int window_accumulators = 8;

/// Lanes that one reduction has, whatever the ISA: element j is added to lane j mod
/// reduction_lanes.
inline constexpr int reduction_lanes = 32;

inline constexpr const char* merge_prefix = "merge of ";

/// One specialisation of a problem's code.
struct LoopClass {
  std::vector<codegen::StrideClass> lane_classes;  ///< of each operand
  int passes = 0;                                  ///< over the reduction axes
  int reductions = 0;
  int scratch_values =
      0;  ///< how many values that several passes need are kept; 0: they are computed again
  std::string key;  ///< all that the code depends on besides the ISA; the second stage's begins
                    ///< with merge_prefix
};

/// All classes that a shape can need, at most 32; where there would be more, strides that are not
/// proven are Any.
std::vector<LoopClass> loop_classes(const LoopProblem& problem);

/// Elements of the reduction axes in scratch, for the values of slots: rows of whole blocks of
/// reduction_lanes.
std::int64_t scratch_elements(const LoopProblem& problem, std::span<const std::int64_t> ints);
/// Scratch of one thread, for the values of all slots, the plan's among them.
std::int64_t scratch_bytes(const LoopProblem& problem, const LoopClass& loop_class,
                           std::span<const std::int64_t> ints);

/// Scratch of one thread is used up to this size: half of a common L2.
inline constexpr std::int64_t scratch_limit_bytes = std::int64_t{512} << 10;

}  // namespace dyn::cpu
