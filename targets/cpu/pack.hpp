#pragma once
// Panels of constant operands.

#include <cstdint>

namespace dyn::cpu {

/// Floats that a K x N matrix takes in panels of `width` columns, each spanning all of K.
constexpr std::int64_t packed_elements(std::int64_t width, std::int64_t k, std::int64_t n) noexcept { return (n + width - 1) / width * width * k; }

/// Packs panels [first_panel, last_panel) of source(k, n) = source[k * k_stride + n * n_stride]; zeros beyond column n.
void pack_panels(const float* source, std::int64_t k, std::int64_t n, std::int64_t k_stride, std::int64_t n_stride, std::int64_t width,
                 std::int64_t first_panel, std::int64_t last_panel, float* destination) noexcept;

}  // namespace dyn::cpu
