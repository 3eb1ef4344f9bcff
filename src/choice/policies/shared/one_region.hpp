#pragma once
// Policies whose programs are one micro-kernel on the whole output.

#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {

/// Considers each micro-kernel alone, in their order.
class OneRegionPolicy : public PaperPolicy {
 public:
  OneRegionPolicy(const MicroKernels& kernels, bool predicts_seconds)
      : kernels_(kernels), predicts_seconds_(predicts_seconds) {}
  void for_each(const ProductShape& shape,
                const std::function<void(const KernelProgram&)>& visit) const override;
  KernelProgram choose(const ProductShape& shape) const override;

 protected:
  /// The merit of one kernel for the whole output; minus seconds, where it predicts them.
  virtual double merit(std::size_t kernel, const ProductShape& shape) const = 0;
  const MicroKernels& kernels() const { return kernels_; }
  KernelProgram program(std::size_t kernel, const ProductShape& shape) const;

 private:
  const MicroKernels& kernels_;
  bool predicts_seconds_;
};

}  // namespace dyn::choice
