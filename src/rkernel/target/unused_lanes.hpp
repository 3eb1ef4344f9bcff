#pragma once
// Lanes of multiply-adds that compute nothing useful.

namespace dyn::rkernel {

/// Shares of all lanes of a program's multiply-adds whose products belong to no output or to no
/// term of its sum, by the axis along which they are too many: masked, padded or past the end. A
/// share of (1 - m) * (1 - n) * (1 - k) of all lanes does useful work.
struct UnusedLanes {
  double m = 0, n = 0, k = 0;
  double all() const { return 1 - (1 - m) * (1 - n) * (1 - k); }
};

}  // namespace dyn::rkernel
