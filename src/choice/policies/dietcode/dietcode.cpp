#include <algorithm>
#include <cmath>

#include "src/choice/policies/dietcode/decision_tree.hpp"
#include "src/choice/policies/dietcode/search.hpp"
#include "src/choice/policies/shared/one_region.hpp"
#include "src/choice/policies/shared/papers.hpp"

namespace dyn::choice {
namespace {

constexpr double most_penalty =
    1;  ///< k of f_OCC where one unit is all that there is, and nothing can be learned
constexpr int doublings = 13;  ///< votes come from sizes up to 2^13
constexpr int steps_of_doubling = 4;
constexpr std::array<std::int64_t, 2> voting_batches{1, 16};
constexpr std::array<std::int64_t, 3> voting_depths{16, 181, 2048};

/// Powers of two, which fill blocks, and steps between, which leave padding.
std::vector<std::int64_t> voting_extents() {
  std::vector<std::int64_t> extents;
  for (int step = 0; step <= steps_of_doubling * doublings; ++step) {
    const auto extent = static_cast<std::int64_t>(
        std::llround(std::exp2(static_cast<double>(step) / steps_of_doubling)));
    if (extents.empty() || extent > extents.back()) extents.push_back(extent);
  }
  return extents;
}

/// DietCode, equation 3: Cost_M(P) = f_MK(M) * f_OCC(P / M) * f_pad(P, M), a throughput: the kernel
/// with the most.
///   f_MK: multiply-adds of the kernel's block, twice, over its seconds on one unit (task_seconds),
///   for a reduction of 512. The paper learns it
///     from features; here it is measured.
///   f_OCC = k * occ + (1 - k), occ = (P / M) / ceil_by(P / M, units): blocks of the output over
///   the places of its waves. k by least
///     squares (see penalty()).
///   f_pad = P / pad_by(P, M) over M, N and K. The text has its reciprocal; padding is a penalty.
/// Section 4.3: choose() does not evaluate that. At construction each shape of a range votes for
/// its kernel, a decision tree (CART, with Gini impurity) is grown from the votes, and dispatches
/// every shape. Votes: M and N up to 8192, by factors of about 2^(1/4), K and batch in fewer steps;
/// what lies between or beyond goes where its neighbours go.
class DietCode final : public OneRegionPolicy {
 public:
  explicit DietCode(const MicroKernels& kernels)
      : OneRegionPolicy(kernels, false), penalty_(penalty(kernels)), tree_({}) {
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      const MicroKernel block = kernels[kernel];
      const std::int64_t depth = ceil_by(dietcode_depth, block.k);
      rated_.push_back({block, 2.0 * static_cast<double>(block.m * block.n * depth) /
                                   kernels.task_seconds(kernel, depth)});
    }
    tree_ = DecisionTree(votes());
  }

  KernelProgram choose(const ProductShape& shape) const override {
    if (!has_outputs(shape) || rated_.empty()) return {};
    return program(tree_.label(point_of(shape)), shape);
  }

 protected:
  double merit(std::size_t kernel, const ProductShape& shape) const override {
    const auto& [block, speed] = rated_[kernel];
    const double occupied = occupied_share(blocks_of(shape, block), kernels().units());
    return speed * (penalty_ * occupied + 1 - penalty_) * useful_share(shape, block);
  }

 private:
  struct Rated {
    MicroKernel block;
    double speed;  ///< f_MK
  };

  static DecisionTree::Point point_of(const ProductShape& shape) {
    return {shape.m, shape.n, shape.k, shape.batch};
  }

  // k, from what is measured of each kernel at the reference depth: one block on one unit has occ =
  // 1 / units, and some part f of the throughput of a full machine. f - 1 = k * (occ - 1), by least
  // squares; between 0 and 1.
  static double penalty(const MicroKernels& kernels) {
    const double rest = 1.0 / kernels.units() - 1;
    double products = 0, squares = 0;
    for (std::size_t kernel = 0; kernel < kernels.size() && rest < 0; ++kernel) {
      const std::int64_t depth = ceil_by(dietcode_depth, kernels[kernel].k);
      const double full = static_cast<double>(kernels.blocks_per_wave(kernel)) /
                          kernels.wave_seconds(kernel, depth);
      const double share = 1 / kernels.task_seconds(kernel, depth) / full;
      products += (share - 1) * rest;
      squares += rest * rest;
    }
    return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : most_penalty;
  }

  std::size_t vote(const ProductShape& shape) const {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t kernel = 0; kernel < rated_.size(); ++kernel) {
      const double own = merit(kernel, shape);
      if (own > most) most = own, best = kernel;
    }
    return best;
  }

  std::vector<DecisionTree::Vote> votes() const {
    std::vector<DecisionTree::Vote> votes;
    const std::vector<std::int64_t> extents = voting_extents();
    for (const std::int64_t batch : voting_batches) {
      for (const std::int64_t k : voting_depths) {
        for (const std::int64_t m : extents) {
          for (const std::int64_t n : extents) {
            const ProductShape shape{batch, m, n, k};
            votes.push_back({point_of(shape), vote(shape)});
          }
        }
      }
    }
    return votes;
  }

  std::vector<Rated> rated_;
  double penalty_;
  DecisionTree tree_;
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_dietcode(const MicroKernels& kernels) {
  return std::make_unique<DietCode>(kernels);
}

}  // namespace dyn::choice
