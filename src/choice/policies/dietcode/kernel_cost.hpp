#pragma once
// DietCode's cost of micro-kernels whose speeds are known (section 4.2).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// Elements of the reduction at which f_MK and f_OCC are taken: the median K of the sampled shapes,
/// from 1 to 8192; 512 without any.
std::int64_t dietcode_depth(std::span<const ProductShape> sampled);

/// f_OCC = k * occ + (1 - k), occ = (P / M) / ceil_by(P / M, units): blocks of the output over the
/// places of its waves.
double occupancy_factor(double k, const ProductShape& shape, const MicroKernel& block, int units);

/// One block alone on one of several units tells of k: it has occ = 1 / units, and this share
/// of the throughput of a machine whose units all have one.
struct IdleUnits {
  int units = 1;
  double share = 1;
};
/// k by least squares over f - 1 = k * (occ - 1), between 0 and 1; 1 where one unit is all that
/// there is, so that nothing can be learned.
double fitted_penalty(std::span<const IdleUnits> observed);

/// Equation 3: Cost_M(P) = f_MK(M) * f_OCC(P / M) * f_pad(P, M), the throughput of one unit.
///   f_MK: operations of the kernel's block (multiply-adds count as two) over its seconds on one
///     unit (task_seconds), at dietcode_depth().
///   f_OCC: k is fitted to what is known of all kernels.
///   f_pad = P / pad_by(P, M) over M, N and K. The text has its reciprocal; padding is a penalty.
/// Immutable; thread-safe.
class DietCodeCost {
 public:
  /// `kernels` must outlive it.
  DietCodeCost(const MicroKernels& kernels, std::span<const ProductShape> sampled);

  std::size_t size() const noexcept { return speeds_.size(); }
  const MicroKernels& kernels() const noexcept { return kernels_; }
  double operator()(std::size_t kernel, const ProductShape& shape) const;
  /// f_MK, which no cost of the kernel exceeds.
  double speed(std::size_t kernel) const { return speeds_[kernel]; }
  /// Without f_pad: operations of the padded problem in a second.
  double unpadded(std::size_t kernel, const ProductShape& shape) const;

 private:
  const MicroKernels& kernels_;
  std::vector<double> speeds_;  ///< f_MK
  double penalty_ = 1;
};

}  // namespace dyn::choice
