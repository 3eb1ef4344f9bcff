#pragma once
// The papers' policies on this CPU: their micro-kernels are blocks of register tiles, timed on this
// machine.

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/choice/cpu/select.hpp"
#include "src/choice/policies/paper_policy.hpp"
#include "targets/cpu/measure/block_speeds.hpp"

namespace dyn::cpu {

/// How the operands of blocks come: what a block moves into its scratch is part of its time, as
/// loading is of MikPoly's pipelined task.
struct BlockMoves {
  bool copies_a = false, packs_b = false;
  auto operator<=>(const BlockMoves&) const = default;
};
BlockMoves moves_of(const choice::ContractionShape& shape);

/// Blocks of the same factors and moves. Timed with f32; others by what one step of K of their tile
/// takes, against f32.
class CpuMicroKernels final : public choice::MicroKernels {
 public:
  /// `machine` must outlive it.
  CpuMicroKernels(const choice::Machine& machine, std::vector<BlockSpeed> speeds,
                  const rkernel::Factors& factors, BlockMoves moves);

  std::size_t size() const override { return speeds_.size(); }
  choice::MicroKernel operator[](std::size_t kernel) const override;
  int units() const override { return machine_.threads; }
  std::int64_t blocks_per_wave(std::size_t) const override { return machine_.threads; }
  double task_seconds(std::size_t kernel, std::int64_t k) const override;
  double wave_seconds(std::size_t kernel, std::int64_t k) const override;
  double compute_to_memory(std::size_t kernel, std::int64_t k) const override;
  double vortex_seconds(std::size_t kernel, const choice::ProductShape& shape) const override;

  /// The kernel as a strategy for sums over all of K. Operands are moved into scratch only where
  /// they must be.
  rkernel::Strategy strategy(std::size_t kernel, const choice::ContractionShape& shape) const;

 private:
  double compute_seconds(const choice::BlockKernel& block, std::int64_t k) const;
  double move_seconds(const choice::BlockKernel& block, std::int64_t k, int active) const;

  const choice::Machine& machine_;
  std::vector<BlockSpeed> speeds_;
  rkernel::Factors factors_;
  BlockMoves moves_;
};

/// A choice, and how good its policy finds it: more is better.
struct PaperChoice {
  choice::Choice choice;
  double merit = 0;
};

/// Immutable; thread-safe.
class PaperPolicies {
 public:
  /// The policies that `policy` names: one, or all of the papers' for Oracle. `machine` must
  /// outlive it.
  PaperPolicies(const choice::Machine& machine, const std::vector<BlockSpeed>& speeds,
                rkernel::Policy policy);

  /// What the policy takes for a shape with lanes along N or M; nullopt where it is not ready, or
  /// has nothing to choose.
  std::optional<PaperChoice> choose(rkernel::Policy policy,
                                    const choice::ContractionShape& shape) const;
  /// Every program that it considers; `predicted` where it predicts time.
  using Visit = std::function<void(const choice::Choice& choice, bool predicted)>;
  void for_each(rkernel::Policy policy, const choice::ContractionShape& shape,
                const Visit& visit) const;

 private:
  /// Policies over the micro-kernels for the same factors whose operands move alike.
  struct Ready {
    std::unique_ptr<CpuMicroKernels> kernels;
    std::map<rkernel::Policy, std::unique_ptr<const choice::PaperPolicy>> policies;
  };
  using Operands = std::pair<rkernel::Factors, BlockMoves>;  ///< and what is moved
  static Operands operands_of(const choice::ContractionShape& shape) {
    return {shape.factors(), moves_of(shape)};
  }
  /// nullptr: the policy is not ready for these operands.
  const Ready* find(const choice::ContractionShape& shape, rkernel::Policy policy) const;
  choice::Choice choice_of(const CpuMicroKernels& kernels, const choice::ContractionShape& shape,
                           const choice::KernelProgram& program) const;

  const choice::Machine& machine_;
  std::map<Operands, Ready> ready_;
};

}  // namespace dyn::cpu
