#include "targets/cpu/contraction/paper_policies.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/cost/copy_cost.hpp"

namespace dyn::cpu {
namespace {

using choice::BlockKernel;
using choice::ContractionShape;
using rkernel::Policy;

constexpr std::int64_t step_k =
    64;  ///< of one micro-kernel: what MikPoly counts along the reduction
constexpr std::array all_papers{Policy::Vortex, Policy::MikPoly, Policy::FTuner, Policy::TSCompiler,
                                Policy::DietCode};

choice::ProductShape sizes_of(const ContractionShape& shape) {
  return {shape.batch, shape.m, shape.n, shape.k};
}

}  // namespace

BlockMoves moves_of(const ContractionShape& shape) {
  return {shape.must_copy_a, !shape.b_packed && shape.must_pack_b};
}

CpuMicroKernels::CpuMicroKernels(const choice::Machine& machine, std::vector<BlockSpeed> speeds,
                                 const rkernel::Factors& factors, BlockMoves moves)
    : machine_(machine), speeds_(std::move(speeds)), factors_(factors), moves_(moves) {
  for (BlockSpeed& speed : speeds_) {
    const double plain =
        machine.find_tile(speed.block.tile_rows, speed.block.tile_columns)->seconds_per_k;
    const double ratio =
        machine.find_tile(speed.block.tile_rows, speed.block.tile_columns, factors)->seconds_per_k /
        plain;
    for (double& seconds : speed.alone) seconds *= ratio;
    for (double& seconds : speed.together) seconds *= ratio;
  }
}

choice::MicroKernel CpuMicroKernels::operator[](std::size_t kernel) const {
  return {speeds_[kernel].block.rows, speeds_[kernel].block.columns, step_k};
}

double CpuMicroKernels::task_seconds(std::size_t kernel, std::int64_t k) const {
  return at_depth(speeds_[kernel].alone, k) + move_seconds(speeds_[kernel].block, k, 1) +
         machine_.seconds_per_ticket;
}

double CpuMicroKernels::wave_seconds(std::size_t kernel, std::int64_t k) const {
  return at_depth(speeds_[kernel].together, k) + move_seconds(speeds_[kernel].block, k, units()) +
         machine_.seconds_per_ticket;
}

// Read from beyond L2.
double CpuMicroKernels::move_seconds(const BlockKernel& block, std::int64_t k, int active) const {
  const double depth = static_cast<double>(k);
  const std::size_t level = std::min<std::size_t>(2, machine_.levels.size() - 1);
  const auto moved = [&](std::int64_t width, bool packs) {
    return choice::block_move_seconds(machine_, static_cast<double>(width) * depth, DType::f32,
                                      level, packs, active);
  };
  return (moves_.copies_a ? moved(block.rows, false) : 0) +
         (moves_.packs_b ? moved(block.columns, true) : 0);
}

double CpuMicroKernels::compute_seconds(const BlockKernel& block, std::int64_t k) const {
  const double tiles =
      static_cast<double>(block.rows / block.tile_rows * (block.columns / block.tile_columns));
  return tiles * static_cast<double>(k) *
         machine_.find_tile(block.tile_rows, block.tile_columns, factors_)->seconds_per_k;
}

double CpuMicroKernels::compute_to_memory(std::size_t kernel, std::int64_t k) const {
  const BlockKernel& block = speeds_[kernel].block;
  const double operands =
      static_cast<double>(block.rows + block.columns) * static_cast<double>(k) * float_bytes;
  const double outputs = static_cast<double>(block.rows * block.columns) * float_bytes;
  const std::size_t shared = machine_.levels.size() - 1;
  return compute_seconds(block, k) /
         ((operands + outputs) / machine_.bandwidth_per_thread(shared, machine_.threads));
}

double CpuMicroKernels::vortex_seconds(std::size_t kernel,
                                       const choice::ProductShape& shape) const {
  const BlockKernel& block = speeds_[kernel].block;
  const auto bandwidth = [&](std::size_t level) {
    return machine_.bandwidth_per_thread(std::min(level, machine_.levels.size() - 1), 1);
  };
  const double steps = static_cast<double>(ceil_div(std::max<std::int64_t>(shape.k, 1), step_k));
  const double tile_rows = block.tile_rows, tile_columns = block.tile_columns;
  // Each layer: T_load + (n - 1) * max(T_load, below) + below + T_store. Registers over the steps
  // of K, from L1's data that come from L2.
  const double step =
      static_cast<double>(step_k) *
      machine_.find_tile(block.tile_rows, block.tile_columns, factors_)->seconds_per_k;
  const double tile_load =
      (tile_rows + tile_columns) * static_cast<double>(step_k) * float_bytes / bandwidth(1);
  const double tile = tile_load + (steps - 1) * std::max(tile_load, step) + step +
                      tile_rows * tile_columns * float_bytes / bandwidth(1);
  // The block's tiles, whose operands come from L3.
  const double tiles =
      static_cast<double>(block.rows / block.tile_rows * (block.columns / block.tile_columns));
  const double block_load = static_cast<double>(block.rows + block.columns) *
                            static_cast<double>(shape.k) * float_bytes / bandwidth(2) / tiles;
  const double outputs =
      static_cast<double>(block.rows * block.columns) * float_bytes / bandwidth(2);
  const double block_seconds =
      block_load + (tiles - 1) * std::max(block_load, tile) + tile + outputs;
  const double blocks = static_cast<double>(shape.batch * ceil_div(shape.m, block.rows) *
                                            ceil_div(shape.n, block.columns));
  return std::ceil(blocks / units()) * (move_seconds(block, shape.k, 1) + block_seconds);
}

rkernel::Strategy CpuMicroKernels::strategy(std::size_t kernel,
                                            const ContractionShape& shape) const {
  const BlockKernel& block = speeds_[kernel].block;
  rkernel::Strategy strategy;
  strategy.tile_rows = block.tile_rows;
  strategy.tile_columns = block.tile_columns;
  strategy.block_m = block.rows;
  strategy.block_n = block.columns;
  strategy.block_k = std::max<std::int64_t>(shape.k, 1);
  strategy.copy_a = shape.must_copy_a;
  strategy.lanes = shape.lanes;
  strategy.direct_b = !shape.b_packed && !shape.must_pack_b;
  return strategy;
}

PaperPolicies::PaperPolicies(const choice::Machine& machine, const std::vector<BlockSpeed>& speeds,
                             Policy policy)
    : machine_(machine) {
  const auto add = [&](const rkernel::Factors& factors, BlockMoves moves) {
    Ready ready{std::make_unique<CpuMicroKernels>(machine, speeds, factors, moves), {}};
    for (const Policy paper : all_papers) {
      if (policy == Policy::Oracle || policy == paper)
        ready.policies.emplace(paper,
                               choice::make_paper_policy(paper, *ready.kernels, machine.panel));
    }
    ready_.emplace(Operands{factors, moves}, std::move(ready));
  };
  for (const bool copies_a : {false, true}) {
    for (const bool packs_b : {false, true}) add({}, {copies_a, packs_b});
    for (const auto& [factors, tiles] : machine.narrow_tiles) add(factors, {copies_a, false});
  }
}

const PaperPolicies::Ready* PaperPolicies::find(const ContractionShape& shape,
                                                Policy policy) const {
  const auto found = ready_.find(operands_of(shape));
  return found == ready_.end() || !found->second.policies.contains(policy) ? nullptr
                                                                           : &found->second;
}

choice::Choice PaperPolicies::choice_of(const CpuMicroKernels& kernels,
                                        const ContractionShape& shape,
                                        const choice::KernelProgram& program) const {
  choice::Choice choice;
  std::int64_t tickets = 0;
  for (const choice::KernelRegion& region : program.regions) {
    const rkernel::Strategy strategy = kernels.strategy(region.kernel, shape);
    choice.program.regions.push_back({region.m0, region.m, region.n0, region.n, strategy});
    tickets +=
        shape.batch * ceil_div(region.m, strategy.block_m) * ceil_div(region.n, strategy.block_n);
  }
  choice.threads = static_cast<int>(std::clamp<std::int64_t>(tickets, 1, machine_.threads));
  choice.seconds = program.seconds.value_or(0);
  return choice;
}

std::optional<PaperChoice> PaperPolicies::choose(Policy policy,
                                                 const ContractionShape& shape) const {
  const Ready* ready = find(shape, policy);
  if (ready == nullptr) return std::nullopt;
  const choice::KernelProgram program = ready->policies.at(policy)->choose(sizes_of(shape));
  if (program.regions.empty()) return std::nullopt;
  return PaperChoice{choice_of(*ready->kernels, shape, program), program.merit};
}

void PaperPolicies::for_each(Policy policy, const ContractionShape& shape,
                             const Visit& visit) const {
  const Ready* ready = find(shape, policy);
  if (ready == nullptr) return;
  ready->policies.at(policy)->for_each(sizes_of(shape), [&](const choice::KernelProgram& program) {
    visit(choice_of(*ready->kernels, shape, program), program.seconds.has_value());
  });
}

}  // namespace dyn::cpu
