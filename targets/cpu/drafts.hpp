#pragma once
// The kernels of a model's problems before they have their code.

#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/cpu/attention/kernel.hpp"
#include "targets/cpu/contraction/kernel.hpp"
#include "targets/cpu/loop/kernel.hpp"
#include "targets/cpu/recurrence/kernel.hpp"

namespace dyn::cpu {

/// Chooses how operands lie: constant right sides of contractions without batch axes, and weights
/// of recurrences, are packed at load, and gathers read packed panels. `weights`: how packed
/// floats are kept.
void choose_forms(std::vector<rkernel::Problem>& problems,
                  const std::function<bool(graph::ValueId)>& constant, const codegen::Isa& isa,
                  const rkernel::Factors& weights);

/// Keeps what products and reductions leave for other kernels in bf16, where these can read it so.
void narrow_tensors(std::vector<rkernel::Problem>& problems, const rkernel::BufferFacts& buffers);

/// All kernels of a target share this.
struct KernelContext {
  const codegen::Isa& isa;
  std::shared_ptr<const choice::Machine> machine;
  std::shared_ptr<const ContractionContext> contractions;  ///< where a problem contracts
  std::shared_ptr<const AttentionChoices> attention;
  std::size_t constant_level = 0;  ///< of memory, where packed weights are expected
};

class KernelDrafts {
 public:
  /// Problems as choose_forms() left them; they need not outlive the drafts.
  KernelDrafts(std::span<const rkernel::Problem> problems, const KernelContext& context);

  /// All kernels' sources, in their order, refer to the drafts, and then to the kernels.
  std::span<const codegen::KernelSource> sources() const noexcept { return sources_; }
  /// `addresses`: of sources(), in their order. No drafts are left.
  std::vector<std::unique_ptr<rkernel::Kernel>> with_code(std::span<void* const> addresses) &&;

 private:
  /// A kernel of any kind; those of the host have their code.
  using Draft = std::variant<std::unique_ptr<rkernel::Kernel>, AttentionKernel::Draft,
                             RecurrenceKernel::Draft, ContractionKernel::Draft, LoopKernel::Draft>;
  static Draft draft_of(const rkernel::Problem& problem, const KernelContext& context);

  std::vector<Draft> drafts_;
  std::vector<codegen::KernelSource> sources_;
  std::vector<std::size_t> ends_;  ///< of each draft's sources
};

}  // namespace dyn::cpu
