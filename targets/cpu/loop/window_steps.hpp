#pragma once
// Windows that slide along a parallel axis: neighbours share most of what they read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::cpu {

/// Blocks of windows beside each other, of which each keeps its accumulators in registers.
struct WindowSteps {
  int axis = -1;              ///< along which windows slide
  int window = -1;            ///< the reduction axis of a window's elements along the same line
  std::int64_t elements = 0;  ///< of that axis, as many in all shapes
  int windows = 1;            ///< of a block
  int vectors = 1;            ///< of lanes, of a block
};

/// The steps of a problem's windows where operands are read by several of them; nothing where none
/// is, or accumulators would not fit `width` lanes of registers.
std::optional<WindowSteps> find_window_steps(const rkernel::Problem& problem, int width);

/// All that the code of a problem's windows depends on besides the structure of the problem.
std::string key_of(const rkernel::Problem& problem, const WindowSteps& steps);

/// Where a value of the element `element` of window number `window` lies: values of equal window *
/// index + element * index are equal. Both 0: it is the same for all of them.
struct WindowPlace {
  std::int64_t window = 0, element = 0;

  bool operator==(const WindowPlace&) const = default;
  std::int64_t of(int index, std::int64_t of_element) const {
    return window * index + element * of_element;
  }
  bool varies() const { return window != 0 || element != 0; }
};

/// An expression whose value elements of windows share by its place.
struct SharedExpr {
  int expr;
  WindowPlace place;
};
/// The largest such parts of what the reduction `expr` reduces, or of the factors whose products it
/// sums.
std::vector<SharedExpr> shared_exprs(const rkernel::Problem& problem, const WindowSteps& steps,
                                     int expr);

/// The operands that an expression loads, in ascending order.
std::vector<int> loaded_operands(const rkernel::Problem& problem, int expr);

}  // namespace dyn::cpu
