#pragma once
// Which micro-kernels MikPoly keeps, and what is learned of each (section 3.3), on any machine.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// The paper's hyperparameters.
struct MikPolyParameters {
  static constexpr std::int64_t granule = 16;
  int n_gen = 32;              ///< extents are 16 * i, i from 1 to this
  int n_syn = 12;              ///< synthetic sizes are 2^j, j from 0 to this
  std::size_t n_mik = 40;      ///< micro-kernels that are kept
  std::int64_t n_pred = 5120;  ///< instances of the longest task that is timed
};

/// Mean throughput, but for a constant factor, of a micro-kernel by pattern I over products whose
/// M, N and K are 2^j, j from 0 to n_syn, on so many units: the product of the mean of M * N /
/// f_wave and that of K / g_predict. `task_seconds`: of one task with `k` elements of the
/// reduction, a multiple of the kernel's.
double mean_throughput(const MicroKernel& kernel, std::int64_t units, int n_syn,
                       const std::function<double(std::int64_t k)>& task_seconds);

/// Indices of the `most` largest values, the largest first, of equal ones the earlier.
std::vector<std::size_t> most_of(const std::vector<double>& values, std::size_t most);

/// Instances of a task for which g_predict is learned: 1, 2, 3, 4, 6, 8, 12, ..., n_pred.
std::vector<std::int64_t> timed_instances(std::int64_t n_pred);

}  // namespace dyn::choice
