#include "src/choice/policies/shared/one_region.hpp"

namespace dyn::choice {

KernelProgram OneRegionPolicy::program(std::size_t kernel, const ProductShape& shape) const {
  return program_of(shape, {.kernels = {kernel}, .merit = merit(kernel, shape)}, predicts_seconds_);
}

void OneRegionPolicy::for_each(const ProductShape& shape,
                               const std::function<void(const KernelProgram&)>& visit) const {
  if (!has_outputs(shape)) return;
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) visit(program(kernel, shape));
}

KernelProgram OneRegionPolicy::choose(const ProductShape& shape) const {
  BestCover best;
  for (std::size_t kernel = 0; has_outputs(shape) && kernel < kernels_.size(); ++kernel)
    best({.kernels = {kernel}, .merit = merit(kernel, shape)});
  return best.program(shape, predicts_seconds_);
}

}  // namespace dyn::choice
