#pragma once
// Where buffers lie in one arena: two that are alive at the same time never overlap.

#include <cstddef>
#include <span>
#include <vector>

namespace dyn::runtime {

inline constexpr std::size_t arena_alignment = 64;
/// On a device, buffers start where any kind of access is aligned.
inline constexpr std::size_t device_alignment = 256;

/// From the scratch of one thread to that of the next, for `bytes` of each. Main loops ask for
/// lines beyond the panel and the rows that they read; such a line in another thread's scratch
/// would leave the cache of the thread that writes it. 0 where nothing uses scratch.
std::size_t scratch_stride(std::size_t bytes);

/// The first and last step of the run in which a buffer is in use.
struct Lifetime {
  int first = 0, last = 0;
};

/// Lifetimes do not depend on the shape, so which buffers meet is found once; place() then does
/// little for each shape.
class ArenaLayout {
 public:
  ArenaLayout() = default;
  explicit ArenaLayout(std::span<const Lifetime> lifetimes,
                       std::size_t alignment = arena_alignment);

  std::size_t size() const noexcept { return meets_.size(); }
  const Lifetime& lifetime(std::size_t buffer) const { return lifetimes_[buffer]; }
  /// Greedy by size: the largest first, each into the tightest gap that fits between the buffers
  /// that it meets. Fills `offsets` (multiples of the alignment) and returns the arena's bytes.
  /// Throws Error(user) where the sum overflows.
  std::size_t place(std::span<const std::size_t> bytes, std::span<std::size_t> offsets) const;

 private:
  std::vector<Lifetime> lifetimes_;
  std::vector<std::vector<int>> meets_;
  std::size_t alignment_ = arena_alignment;
};

}  // namespace dyn::runtime
