#pragma once
// Blocks of register tiles on this CPU, as the papers' policies see them.

#include <vector>

#include "src/choice/cost/cost.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/choice/policies/shared/piecewise_linear.hpp"
#include "src/choice/policies/vortex/layers.hpp"
#include "targets/cpu/measure/block_speeds.hpp"

namespace dyn::cpu {

choice::BlockOperands operands_of(const choice::ContractionShape& shape);

/// Blocks of the same factors and moves. Timed with some factors; with others by what one step of K
/// of their tile takes, against these. What was not timed is predicted from the machine's figures.
class CpuMicroKernels final : public choice::MicroKernels {
 public:
  /// `machine` must outlive it. `timed`: the factors that the blocks were timed with.
  CpuMicroKernels(const choice::Machine& machine, const std::vector<BlockSpeed>& speeds,
                  const choice::BlockOperands& operands, const rkernel::Factors& timed = {});
  /// None of them timed.
  CpuMicroKernels(const choice::Machine& machine, const std::vector<choice::BlockKernel>& blocks,
                  const choice::BlockOperands& operands);
  /// Vortex's, with their costs.
  CpuMicroKernels(const choice::Machine& machine, const std::vector<choice::VortexBlock>& blocks,
                  const choice::BlockOperands& operands);

  std::size_t size() const override { return kernels_.size(); }
  choice::MicroKernel operator[](std::size_t kernel) const override;
  int units() const override { return machine_.threads; }
  std::int64_t blocks_per_wave(std::size_t) const override { return machine_.threads; }
  double task_seconds(std::size_t kernel, std::int64_t k) const override;
  double wave_seconds(std::size_t kernel, std::int64_t k) const override;
  double compute_to_memory(std::size_t kernel, std::int64_t k) const override;
  /// Layer 2 has the blocks of K one after the other; it loads and stores nothing (table 1).
  double vortex_block_seconds(std::size_t kernel, std::int64_t k) const override;
  double vortex_least_rate(std::size_t kernel) const override;
  /// From and to the nearest level that holds it.
  double copy_seconds(double bytes) const override;
  std::size_t lowest_layer(std::size_t kernel) const override { return kernels_[kernel].tile; }

  /// The kernel as a strategy. Operands are moved into scratch only where they must be.
  rkernel::Strategy strategy(std::size_t kernel, const choice::ContractionShape& shape) const;

 private:
  struct Kernel {
    choice::BlockKernel block;
    choice::PiecewiseLinear alone, together;  ///< no points: predicted
    std::size_t tile = 0;                     ///< layer 0
    double layer_one = 0;                     ///< Vortex's cost of one block of K
  };
  double seconds(const Kernel& kernel, const choice::PiecewiseLinear& timed, std::int64_t k,
                 int active) const;

  const choice::Machine& machine_;
  choice::BlockOperands operands_;
  std::vector<Kernel> kernels_;
};

}  // namespace dyn::cpu
