#include "src/choice/policies/dietcode/voted_policy.hpp"

#include <cmath>

namespace dyn::choice {
namespace {

constexpr int octaves = 13;  ///< votes come from sizes up to 2^13
constexpr std::array<std::int64_t, 2> voting_batches{1, 16};
constexpr std::array<std::int64_t, 3> voting_depths{16, 181, 2048};

/// Powers of two, which fill blocks, and steps between, which leave padding.
std::vector<std::int64_t> voting_extents(int steps_of_octave) {
  std::vector<std::int64_t> extents;
  for (int step = 0; step <= steps_of_octave * octaves; ++step) {
    const auto extent = static_cast<std::int64_t>(
        std::llround(std::exp2(static_cast<double>(step) / steps_of_octave)));
    if (extents.empty() || extent > extents.back()) extents.push_back(extent);
  }
  return extents;
}

std::vector<ProductShape> fixed_shapes(int steps_of_octave) {
  std::vector<ProductShape> shapes;
  const std::vector<std::int64_t> extents = voting_extents(steps_of_octave);
  for (const std::int64_t batch : voting_batches) {
    for (const std::int64_t k : voting_depths) {
      for (const std::int64_t m : extents) {
        for (const std::int64_t n : extents) shapes.push_back({batch, m, n, k});
      }
    }
  }
  return shapes;
}

DecisionTree::Point point_of(const ProductShape& shape) {
  return {shape.m, shape.n, shape.k, shape.batch};
}

}  // namespace

VotedPolicy::VotedPolicy(const MicroKernels& kernels, const PartitionRules& rules,
                         int steps_of_octave)
    : cost_(kernels, rules.sampled),
      voting_(rules.sampled.empty() ? fixed_shapes(steps_of_octave) : rules.sampled),
      tree_({}) {}

std::size_t VotedPolicy::vote(const ProductShape& shape) const {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t kernel = 0; kernel < cost_.size(); ++kernel) {
    const double own = cover(kernel, shape).merit;
    if (own > most) most = own, best = kernel;
  }
  return best;
}

void VotedPolicy::take_votes() {
  std::vector<DecisionTree::Vote> votes;
  for (const ProductShape& shape : voting_)
    if (has_outputs(shape)) votes.push_back({point_of(shape), vote(shape)});
  tree_ = DecisionTree(votes);
  voting_ = {};
}

void VotedPolicy::for_each(const ProductShape& shape,
                           const std::function<void(const KernelProgram&)>& visit) const {
  if (!has_outputs(shape)) return;
  for (std::size_t kernel = 0; kernel < cost_.size(); ++kernel)
    visit(program_of(shape, cover(kernel, shape), false));
}

KernelProgram VotedPolicy::choose(const ProductShape& shape) const {
  if (!has_outputs(shape) || cost_.size() == 0) return {};
  return program_of(shape, cover(tree_.label(point_of(shape)), shape), false);
}

}  // namespace dyn::choice
