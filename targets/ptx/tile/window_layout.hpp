#pragma once
// The left side of a contraction whose rows are windows, as blocks of a GPU read it: for each row
// of a block its place in the tensor is kept in shared memory.

#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// Code that copies windows is specialised on this.
struct WindowLayout {
  struct Axis {
    int axis = 0;             ///< of the problem
    bool has_taps = false;    ///< else the size is 1
    bool is_checked = false;  ///< windows may reach beyond the tensor's axis
  };
  std::vector<Axis> axes;  ///< outermost first; one is checked at least
  bool in_runs = false;    ///< the taps of the last axis and the channels are neighbours in memory,
                           ///< all of them in the tensor: one digit of k
  std::uint8_t outside = 0;  ///< an element outside of the tensor; other than 0 only of bytes

  int checked() const;
  /// Bytes of one row's entry: the byte offset of its window as an i64, then an i32 for each
  /// checked axis, where the window begins on it; a multiple of 16.
  int entry_bytes() const;
  /// A part of the key of the kernel's class.
  std::string key() const;
};

WindowLayout window_layout(const rkernel::WindowRows& rows);
/// The same of the contraction's left side; 0 where its rows are no windows.
int window_entry_bytes(const rkernel::Problem& problem);

/// Windows along an axis of a tensor of more elements are refused, and more windows or elements of
/// K.
inline constexpr std::int64_t most_window_extent = std::int64_t{1} << 29,
                              most_windows = std::int64_t{1} << 31;

}  // namespace dyn::ptx
