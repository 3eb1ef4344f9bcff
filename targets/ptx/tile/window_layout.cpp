#include "targets/ptx/tile/window_layout.hpp"

#include <algorithm>

#include "src/base/rounding.hpp"

namespace dyn::ptx {
namespace {

constexpr int offset_bytes = 8, coordinate_bytes = 4, entry_alignment = 16;

/// True where windows are the elements of the tensor's axis, one for one.
bool are_elements(const rkernel::WindowAxis& axis) {
  return axis.size.constant() == 1 && axis.stride.constant() == 1 && axis.before.constant() == 0 &&
         prove_equal(axis.count, axis.extent) == true;
}

/// True where no window reaches beyond the tensor: as many as it has room for, without padding.
bool stays_inside(const rkernel::WindowAxis& axis) {
  if (axis.before.constant() != 0) return false;
  const graph::Dim beyond_first = axis.extent - ((axis.size - 1) * axis.dilation + 1);
  return prove_equal(axis.count, floordiv(beyond_first, axis.stride) + 1) == true;
}

}  // namespace

int WindowLayout::checked() const {
  return static_cast<int>(std::ranges::count(axes, true, &Axis::is_checked));
}

int WindowLayout::entry_bytes() const {
  return static_cast<int>(round_up(offset_bytes + coordinate_bytes * checked(), entry_alignment));
}

std::string WindowLayout::key() const {
  std::string key = " windows";
  for (const Axis& axis : axes) {
    key += axis.has_taps ? " t" : " -";
    if (axis.is_checked) key += "c";
  }
  if (in_runs) key += " runs";
  if (outside != 0) key += " outside " + std::to_string(outside);
  return key;
}

WindowLayout window_layout(const rkernel::WindowRows& rows) {
  WindowLayout layout;
  layout.outside = static_cast<std::uint8_t>(rows.outside);
  for (const rkernel::WindowAxis& axis : rows.axes)
    layout.axes.push_back(
        {axis.axis, axis.size.constant() != 1, !are_elements(axis) && !stays_inside(axis)});
  const rkernel::WindowAxis& last = rows.axes.back();
  layout.in_runs =
      rkernel::is_run(rows) && last.size.constant() != 1 && !layout.axes.back().is_checked;
  // A coordinate also tells rows that do not exist.
  if (layout.checked() == 0) layout.axes.back().is_checked = true;
  return layout;
}

int window_entry_bytes(const rkernel::Problem& problem) {
  // A problem of axes alone describes a tile.
  if (problem.operands.empty()) return 0;
  const auto& window =
      problem.operands[static_cast<std::size_t>(problem.contraction.value().a)].window;
  return window ? window_layout(*window).entry_bytes() : 0;
}

}  // namespace dyn::ptx
