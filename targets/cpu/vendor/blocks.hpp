#pragma once
// How a contraction is cut into executions of oneDNN's primitives.

#include <cstdint>

namespace dyn::cpu {

struct VendorSizes {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;  ///< at least 1
};

/// One matrix of the batch in blocks; the last ones along m and n may be smaller.
struct VendorBlocks {
  std::int64_t m = 1, n = 1;
  std::int64_t m_blocks = 1, n_blocks = 1;
  std::int64_t count() const noexcept { return m_blocks * n_blocks; }
};

/// As many blocks as keep the threads busy, cut where they read least of A and B again. Borders
/// along n are multiples of `panel`.
VendorBlocks cut_blocks(const VendorSizes& sizes, std::int64_t panel, int threads);

}  // namespace dyn::cpu
