#pragma once
// Some of many kernels that do well together, whatever the size.

#include <cstddef>
#include <vector>

namespace dyn::choice {

/// Indices of at most `most` kernels: one after the other the one is kept that most improves the
/// mean, over sizes, of the best share, until that gains nothing. `shares[i][j]`: throughput of
/// kernel i at size j, as a share of the best one's; as many sizes for each.
std::vector<std::size_t> best_together(const std::vector<std::vector<double>>& shares,
                                       std::size_t most);

}  // namespace dyn::choice
