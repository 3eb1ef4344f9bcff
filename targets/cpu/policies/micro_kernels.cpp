#include "targets/cpu/policies/micro_kernels.hpp"

#include <algorithm>

#include "src/choice/policies/ftuner/ukernels.hpp"

namespace dyn::cpu {
namespace {

using choice::BlockKernel;
using choice::PiecewiseLinear;

/// Elements of the reduction in one step of a block that runs over all of K.
constexpr std::int64_t step_of_all = 64;

PiecewiseLinear times(const std::vector<std::int64_t>& depths, const std::vector<double>& seconds,
                      double ratio) {
  std::vector<PiecewiseLinear::Point> points;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    points.push_back({static_cast<double>(depths[i]), seconds[i] * ratio});
  return PiecewiseLinear::fitted(points);
}

}  // namespace

choice::BlockOperands operands_of(const choice::ContractionShape& shape) {
  return {shape.factors(), shape.must_copy_a, !shape.b_packed && shape.must_pack_b,
          !shape.b_packed && !shape.must_pack_b};
}

CpuMicroKernels::CpuMicroKernels(const choice::Machine& machine,
                                 const std::vector<BlockSpeed>& speeds,
                                 const choice::BlockOperands& operands,
                                 const rkernel::Factors& timed)
    : machine_(machine), operands_(operands) {
  for (const BlockSpeed& speed : speeds) {
    const BlockKernel& block = speed.plan.block;
    const double ratio =
        machine.find_tile(block.tile_rows, block.tile_columns, operands.factors)->seconds_per_k /
        machine.find_tile(block.tile_rows, block.tile_columns, timed)->seconds_per_k;
    kernels_.push_back({block, times(speed.plan.depths, speed.alone, ratio),
                        times(speed.plan.depths, speed.together, ratio)});
  }
}

CpuMicroKernels::CpuMicroKernels(const choice::Machine& machine,
                                 const std::vector<BlockKernel>& blocks,
                                 const choice::BlockOperands& operands)
    : machine_(machine), operands_(operands) {
  kernels_.reserve(blocks.size());
  for (const BlockKernel& block : blocks) kernels_.push_back({block, {}, {}});
}

CpuMicroKernels::CpuMicroKernels(const choice::Machine& machine,
                                 const std::vector<choice::VortexBlock>& blocks,
                                 const choice::BlockOperands& operands)
    : machine_(machine), operands_(operands) {
  kernels_.reserve(blocks.size());
  for (const choice::VortexBlock& one : blocks)
    kernels_.push_back({one.block, {}, {}, one.tile, one.seconds});
}

choice::MicroKernel CpuMicroKernels::operator[](std::size_t kernel) const {
  const BlockKernel& block = kernels_[kernel].block;
  return {block.rows, block.columns, block.depth > 0 ? block.depth : step_of_all};
}

double CpuMicroKernels::seconds(const Kernel& kernel, const PiecewiseLinear& timed, std::int64_t k,
                                int active) const {
  if (timed.points().empty())
    return choice::predicted_seconds(machine_, kernel.block, k, operands_, active);
  return timed(static_cast<double>(k)) +
         choice::move_seconds(machine_, kernel.block, k, operands_, active) +
         machine_.seconds_per_ticket;
}

double CpuMicroKernels::task_seconds(std::size_t kernel, std::int64_t k) const {
  return seconds(kernels_[kernel], kernels_[kernel].alone, k, 1);
}

double CpuMicroKernels::wave_seconds(std::size_t kernel, std::int64_t k) const {
  return seconds(kernels_[kernel], kernels_[kernel].together, k, units());
}

double CpuMicroKernels::compute_to_memory(std::size_t kernel, std::int64_t k) const {
  return choice::compute_efficiency(machine_, kernels_[kernel].block, k, operands_.factors);
}

double CpuMicroKernels::vortex_block_seconds(std::size_t kernel, std::int64_t k) const {
  const Kernel& own = kernels_[kernel];
  return static_cast<double>(own.block.steps(k)) * own.layer_one;
}

double CpuMicroKernels::vortex_least_rate(std::size_t kernel) const {
  const Kernel& own = kernels_[kernel];
  return own.layer_one / static_cast<double>(std::max<std::int64_t>(own.block.depth, 1));
}

double CpuMicroKernels::copy_seconds(double bytes) const {
  const std::size_t level = machine_.level_of(static_cast<std::int64_t>(bytes));
  return bytes / (machine_.bandwidth_per_thread(level, units()) * units());
}

rkernel::Strategy CpuMicroKernels::strategy(std::size_t kernel,
                                            const choice::ContractionShape& shape) const {
  const BlockKernel& block = kernels_[kernel].block;
  rkernel::Strategy strategy;
  strategy.tile_rows = block.tile_rows;
  strategy.tile_columns = block.tile_columns;
  strategy.block_m = block.rows;
  strategy.block_n = block.columns;
  strategy.block_k = std::max<std::int64_t>(block.depth > 0 ? block.depth : shape.k, 1);
  strategy.copy_a = shape.must_copy_a;
  strategy.lanes = shape.lanes;
  strategy.direct_b = !shape.b_packed && !shape.must_pack_b;
  return strategy;
}

}  // namespace dyn::cpu
