#pragma once
// Strips: the rows of a tensor that the windows of a block slide over, in shared memory.

#include <optional>
#include <string>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// Windows of few channels have short runs of elements in memory, and neighbours share most of
/// them. Where windows lie in strips (rkernel::lie_in_strips), a block copies each element that its
/// windows need once, in whole sectors, and takes its tiles from there.
///
/// A block's windows are pieces: neighbours in one row of windows. Strip r has tap row r of all
/// pieces, one piece after the other, each from a whole word on. The element of window j of a piece
/// and of element q of a run lies `step` * j + q elements after the piece's first one.
struct StripLayout {
  int run = 0;     ///< elements of a row of taps
  int step = 0;    ///< elements from one window to its neighbour
  int strips = 0;  ///< rows of taps
  int word = 0;    ///< elements of 4 bytes
  int gap = 0;     ///< elements that a piece may take beyond `step` for each of its windows
  int pitch = 0;   ///< elements from one strip to the next; those of 32 neighbouring k lie in words
                   ///< of different banks
  int element = 0;  ///< bytes
  int bytes() const { return strips * pitch * element; }
  /// A part of the key of the kernel's class.
  std::string key() const;
};

/// Strips are copied in words.
inline constexpr int strip_word_bytes = 4;
/// Rows of windows that are shorter have too many pieces.
inline constexpr int least_strip_windows = 16;

/// The strips of a tile; nothing where the contraction's left side has none, taps are whole vectors
/// of 16 bytes, or runs of taps that share no element (WindowLayout::in_runs), or a warp would copy
/// elements of more than one window at once.
std::optional<StripLayout> strip_layout(const rkernel::Problem& problem,
                                        const choice::GpuTile& tile);

/// The tile with the shared memory that it needs for the problem's windows.
choice::GpuTile with_windows(choice::GpuTile tile, const rkernel::Problem& problem);

}  // namespace dyn::ptx
