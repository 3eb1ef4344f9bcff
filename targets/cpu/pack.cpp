#include "targets/cpu/pack.hpp"

#include <algorithm>
#include <cstring>

namespace dyn::cpu {
namespace {

// Blocks of K keep the lines that are written in L1.
constexpr std::int64_t depth_block = 64;

void pack_columns(const float* from, std::int64_t k, std::int64_t columns, std::int64_t k_stride, std::int64_t n_stride, std::int64_t width, float* out) {
  for (std::int64_t start = 0; start < k; start += depth_block) {
    const std::int64_t end = std::min(k, start + depth_block);
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = start; row < end; ++row) out[row * width + column] = from[row * k_stride + column * n_stride];
    }
  }
}

}  // namespace

void pack_panels(const float* source, std::int64_t k, std::int64_t n, std::int64_t k_stride, std::int64_t n_stride, std::int64_t width,
                 std::int64_t first_panel, std::int64_t last_panel, float* destination) noexcept {
  for (std::int64_t panel = first_panel; panel < last_panel; ++panel) {
    float* out = destination + panel * k * width;
    const std::int64_t columns = std::min(width, n - panel * width);
    if (columns < width) std::memset(out, 0, static_cast<std::size_t>(k * width) * sizeof(float));
    if (n_stride == 1) {
      for (std::int64_t row = 0; row < k; ++row) {
        std::memcpy(out + row * width, source + row * k_stride + panel * width, static_cast<std::size_t>(columns) * sizeof(float));
      }
    } else {
      pack_columns(source + panel * width * n_stride, k, columns, k_stride, n_stride, width, out);
    }
  }
}

}  // namespace dyn::cpu
