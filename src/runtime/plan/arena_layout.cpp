#include "src/runtime/plan/arena_layout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "dyn/error.hpp"
#include "src/choice/calibration/calibration.hpp"

namespace dyn::runtime {
namespace {

struct Extent {
  std::size_t begin, end;
};

constexpr std::size_t unplaced = std::numeric_limits<std::size_t>::max();

std::size_t aligned(std::size_t bytes, std::size_t alignment) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    throw Error(ErrorKind::user,
                "the intermediate tensors of this shape need more memory than can be addressed");
  }
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The start of the tightest gap of at least `bytes` between `taken` (sorted by begin), or the end
/// of them all.
std::size_t best_gap(std::span<const Extent> taken, std::size_t bytes) {
  std::size_t best = unplaced, best_waste = unplaced, end = 0;
  for (const Extent& extent : taken) {
    if (extent.begin >= end + bytes && extent.begin - end - bytes < best_waste) {
      best = end;
      best_waste = extent.begin - end - bytes;
    }
    end = std::max(end, extent.end);
  }
  return best == unplaced ? end : best;
}

}  // namespace

std::size_t scratch_stride(std::size_t bytes) {
  if (bytes == 0) return 0;
  const choice::Calibration& fitted = choice::default_calibration();
  const auto of_rows = fitted.prefetch_near_elements * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t asked = std::max({fitted.prefetch_bytes, fitted.prefetch_bytes_of_tall_tiles,
                                       fitted.prefetch_bytes_of_codes, of_rows});
  return aligned(bytes + static_cast<std::size_t>(asked), arena_alignment);
}

ArenaLayout::ArenaLayout(std::span<const Lifetime> lifetimes, std::size_t alignment)
    : lifetimes_(lifetimes.begin(), lifetimes.end()),
      meets_(lifetimes.size()),
      alignment_(alignment) {
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    for (std::size_t b = 0; b < lifetimes.size(); ++b) {
      const bool meet =
          lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      if (a != b && meet) meets_[a].push_back(static_cast<int>(b));
    }
  }
}

std::size_t ArenaLayout::place(std::span<const std::size_t> bytes,
                               std::span<std::size_t> offsets) const {
  std::vector<int> order(meets_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int buffer) { return bytes[static_cast<std::size_t>(buffer)]; };
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });

  std::fill(offsets.begin(), offsets.end(), unplaced);
  std::vector<Extent> taken;
  std::size_t total = 0;
  for (const int buffer : order) {
    const std::size_t length = aligned(size(buffer), alignment_);
    taken.clear();
    for (const int other : meets_[static_cast<std::size_t>(buffer)]) {
      const std::size_t begin = offsets[static_cast<std::size_t>(other)];
      if (begin != unplaced) taken.push_back({begin, begin + aligned(size(other), alignment_)});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    const std::size_t begin = best_gap(taken, length);
    offsets[static_cast<std::size_t>(buffer)] = begin;
    total = std::max(total, aligned(begin + length, alignment_));
  }
  return total;
}

}  // namespace dyn::runtime
