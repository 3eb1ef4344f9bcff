#include "targets/ptx/contraction_choice.hpp"

#include "src/rkernel/gpu_micro_kernels.hpp"
#include "src/rkernel/policies/paper_policy.hpp"

namespace dyn::ptx {

using rkernel::GpuChoice;
using rkernel::GpuContraction;
using rkernel::GpuTile;
using rkernel::Policy;

/// A paper's policy over tiles that copy in one way.
struct TilePolicies::Paper {
  Paper(Policy policy, const rkernel::GpuMachine& machine, const std::vector<GpuTile>& tiles, const rkernel::GpuShapeFor& form)
      : kernels(machine, tiles, form), choice(rkernel::make_paper_policy(policy, kernels, 1, rkernel::Partition::Whole)) {}

  rkernel::GpuMicroKernels kernels;
  std::unique_ptr<const rkernel::PaperPolicy> choice;
};

namespace {

rkernel::ProductShape product_of(const GpuContraction& shape) { return {shape.batch, shape.m, shape.n, shape.k}; }

}  // namespace

TilePolicies::TilePolicies(const rkernel::GpuMachine& machine, const std::vector<GpuTile>& tiles) : machine_(machine), tiles_(tiles) {}

TilePolicies::~TilePolicies() = default;

Policy TilePolicies::acting(Policy policy) { return rkernel::uses_micro_kernels(policy) && policy != Policy::Oracle ? policy : Policy::Dyn; }

const TilePolicies::Paper* TilePolicies::paper(Policy policy, const MetContraction& met) const {
  const std::pair key(policy, met.vectors);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = papers_.find(key); found != papers_.end()) return found->second.get();
  }
  auto made = std::make_unique<const Paper>(policy, machine_, tiles_, met.for_tile);
  const std::unique_lock lock(mutex_);
  return papers_.try_emplace(key, std::move(made)).first->second.get();
}

GpuChoice TilePolicies::choose(Policy policy, const MetContraction& met) const {
  if (acting(policy) != Policy::Dyn) {
    const Paper* const own = paper(policy, met);
    const rkernel::KernelProgram program = own->choice->choose(product_of(met.shape));
    if (!program.regions.empty()) {
      const std::size_t tile = own->kernels.tile_of(program.regions.front().kernel);
      return {static_cast<int>(tile), rkernel::gpu_contraction_cost(machine_, met.for_tile(tiles_[tile]), tiles_[tile])};
    }
  }
  return rkernel::select_gpu_tile(machine_, met.for_tile, tiles_);
}

std::vector<ConsideredTile> TilePolicies::considered(Policy policy, const MetContraction& met) const {
  std::vector<ConsideredTile> considered;
  if (acting(policy) != Policy::Dyn) {
    const Paper* const own = paper(policy, met);
    own->choice->for_each(product_of(met.shape), [&](const rkernel::KernelProgram& program) {
      considered.push_back({own->kernels.tile_of(program.regions.front().kernel), program.seconds});
    });
    return considered;
  }
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const GpuTile& tile = tiles_[i];
    if (rkernel::occupancy(machine_, tile.threads(), tile.registers(), tile.shared_bytes()).blocks == 0) continue;
    considered.push_back({i, rkernel::gpu_contraction_cost(machine_, met.for_tile(tile), tile)});
  }
  return considered;
}

}  // namespace dyn::ptx
