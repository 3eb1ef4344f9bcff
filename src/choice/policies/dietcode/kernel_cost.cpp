#include "src/choice/policies/dietcode/kernel_cost.hpp"

#include <algorithm>

#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t usual_depth = 512, most_depth = 8192;
constexpr double most_penalty = 1;

}  // namespace

std::int64_t dietcode_depth(std::span<const ProductShape> sampled) {
  if (sampled.empty()) return usual_depth;
  std::vector<std::int64_t> depths;
  for (const ProductShape& shape : sampled) depths.push_back(shape.k);
  const auto middle = depths.begin() + static_cast<std::ptrdiff_t>(depths.size() / 2);
  std::ranges::nth_element(depths, middle);
  return std::clamp<std::int64_t>(*middle, 1, most_depth);
}

double occupancy_factor(double k, const ProductShape& shape, const MicroKernel& block, int units) {
  return k * occupied_share(blocks_of(shape, block), units) + 1 - k;
}

double fitted_penalty(std::span<const IdleUnits> observed) {
  double products = 0, squares = 0;
  for (const IdleUnits& one : observed) {
    const double rest = 1.0 / one.units - 1;
    products += (one.share - 1) * rest;
    squares += rest * rest;
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : most_penalty;
}

DietCodeCost::DietCodeCost(const MicroKernels& kernels, std::span<const ProductShape> sampled)
    : kernels_(kernels) {
  const std::int64_t wanted = dietcode_depth(sampled);
  std::vector<IdleUnits> observed;
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    const MicroKernel block = kernels[kernel];
    const std::int64_t depth = ceil_by(wanted, block.k);
    const double alone = kernels.task_seconds(kernel, depth);
    speeds_.push_back(2.0 * static_cast<double>(block.m * block.n * depth) / alone);
    const double full =
        static_cast<double>(kernels.blocks_per_wave(kernel)) / kernels.wave_seconds(kernel, depth);
    observed.push_back({kernels.units(), 1 / alone / full});
  }
  penalty_ = fitted_penalty(observed);
}

double DietCodeCost::unpadded(std::size_t kernel, const ProductShape& shape) const {
  return speeds_[kernel] * occupancy_factor(penalty_, shape, kernels_[kernel], kernels_.units());
}

double DietCodeCost::operator()(std::size_t kernel, const ProductShape& shape) const {
  return unpadded(kernel, shape) * useful_share(shape, kernels_[kernel]);
}

}  // namespace dyn::choice
