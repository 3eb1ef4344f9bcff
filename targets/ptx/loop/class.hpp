#pragma once
// Loop problems on a GPU and their shape classes: the part that is decided at load, and the part
// that a launch decides.

#include <memory>
#include <string>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

/// A problem with its slots. Kernels and the sources of their code share it.
struct LoopProblem {
  explicit LoopProblem(const rkernel::Problem& source);
  LoopProblem(const LoopProblem&) = delete;
  LoopProblem& operator=(const LoopProblem&) = delete;

  bool lanes_reduced() const;  ///< lanes run along a reduction axis

  rkernel::Problem problem;
  codegen::SlotTable slots;
  int points_slot = 0;  ///< points of the parallel axes
  int tickets_slot =
      0;  ///< tickets of as many points as a block has units; blocks take them round robin
};

/// Threads of every block of a loop kernel.
inline constexpr int loop_threads = 256;

/// One specialisation of a problem's code. The tree has the layers registers, (warp,) block, grid;
/// with lanes along a reduction axis the second one has as many threads as share a row, and the
/// loop along the lanes.
struct LoopClass {
  std::vector<codegen::StrideClass>
      lane_classes;  ///< class of each operand's stride along the lane axis
  rkernel::RKernel tree;
  std::string name;  ///< "points", "rows of 1 warp", "rows of 8 warps"
  std::string key;   ///< everything that the code depends on

  /// Threads that compute one point of the parallel axes together.
  int row_threads = 1;
};

/// One class where lanes run along a parallel axis: a thread for each point. Otherwise rows of one
/// warp and, where rows may be far longer than its lanes, rows of a block. Strides along the lane
/// axis that are not proven 0 or 1 are Any.
std::vector<LoopClass> loop_classes(const LoopProblem& problem);

}  // namespace dyn::ptx
