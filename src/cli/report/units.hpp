#pragma once
// Units of time in which results are shown.

namespace dyn::cli {

inline constexpr double ms = 1e3, us = 1e6, ns = 1e9;  ///< in a second

}  // namespace dyn::cli
