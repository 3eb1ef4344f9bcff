#pragma once
// Sizes at which a load asks what would pay, before a shape is known.

#include <cstdint>
#include <vector>

#include "graph/dims/dim.hpp"

namespace dyn::ptx {

/// Dims without a hint are tried with these.
inline constexpr std::int64_t small_size = 16, unknown_sizes[] = {small_size, 128, 1024};

/// A value for each symbol: its hint, else `unknown`, within its bounds.
std::vector<std::int64_t> typical_symbols(const graph::DimTable& dims, std::int64_t unknown);

}  // namespace dyn::ptx
