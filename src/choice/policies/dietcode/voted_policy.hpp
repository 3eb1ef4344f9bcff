#pragma once
// DietCode's dispatching (section 4.3): shapes vote, a decision tree decides.

#include <vector>

#include "src/choice/policies/dietcode/decision_tree.hpp"
#include "src/choice/policies/dietcode/kernel_cost.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {

/// A policy with one program for each kernel and shape. Each voting shape votes for the kernel
/// whose program has the most merit, a decision tree (CART, with Gini impurity) is grown from the
/// votes, and dispatches every shape. Voting are the shapes that a tuner sampled, else M and N up
/// to 8192, so many in each octave, K and batch in fewer steps. What lies between or beyond
/// goes where its neighbours go.
class VotedPolicy : public PaperPolicy {
 public:
  VotedPolicy(const MicroKernels& kernels, const PartitionRules& rules, int steps_of_octave);
  void for_each(const ProductShape& shape,
                const std::function<void(const KernelProgram&)>& visit) const override;
  KernelProgram choose(const ProductShape& shape) const override;

 protected:
  /// The program of a kernel for a shape with outputs, and its merit.
  virtual KernelCover cover(std::size_t kernel, const ProductShape& shape) const = 0;
  const DietCodeCost& cost() const noexcept { return cost_; }
  /// Makes the tree; for the end of a constructor.
  void take_votes();

 private:
  std::size_t vote(const ProductShape& shape) const;

  DietCodeCost cost_;
  std::vector<ProductShape> voting_;
  DecisionTree tree_;
};

}  // namespace dyn::choice
