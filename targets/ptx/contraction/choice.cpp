#include "targets/ptx/contraction/choice.hpp"

#include <algorithm>
#include <utility>

#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::ptx {

using choice::GpuContraction;
using choice::GpuPair;
using choice::GpuProgram;
using choice::GpuRegion;
using choice::GpuTile;
using rkernel::Policy;

/// A paper's policy over tiles that copy in one way.
struct TilePolicies::Paper {
  Paper(Policy policy, const choice::GpuMachine& machine, const std::vector<GpuTile>& tiles,
        const std::vector<GpuPair>& allowed, const choice::GpuShapeFor& form)
      : kernels(machine, tiles, form, allowed),
        pairs(allowed),
        choice(choice::make_paper_policy(
            policy, kernels,
            {allowed.empty() ? choice::Regions::Whole : choice::Regions::Two, 1})) {}

  /// In the order of tickets.
  std::vector<GpuRegion> regions_of(const choice::KernelProgram& program) const {
    std::vector<GpuRegion> regions;
    for (const choice::KernelRegion& region : program.regions)
      regions.push_back(
          {kernels.tile_of(region.kernel), region.m0, region.m, region.n0, region.n, {}});
    if (regions.size() == 2 &&
        std::ranges::find(pairs, GpuPair{regions[0].tile, regions[1].tile}) == pairs.end())
      std::swap(regions[0], regions[1]);
    return regions;
  }

  choice::GpuMicroKernels kernels;
  std::vector<GpuPair> pairs;
  std::unique_ptr<const choice::PaperPolicy> choice;
};

namespace {

choice::ProductShape product_of(const GpuContraction& shape) {
  return {shape.batch, shape.m, shape.n, shape.k};
}

}  // namespace

TilePolicies::TilePolicies(const choice::GpuMachine& machine, const std::vector<GpuTile>& tiles,
                           const std::vector<GpuPair>& pairs)
    : machine_(machine), tiles_(tiles), pairs_(pairs) {}

TilePolicies::~TilePolicies() = default;

Policy TilePolicies::acting(Policy policy) {
  return rkernel::uses_micro_kernels(policy) && policy != Policy::Oracle ? policy : Policy::Dyn;
}

const std::vector<GpuPair>& TilePolicies::pairs_for(const MetContraction& met) const {
  static const std::vector<GpuPair> none;
  return met.pairs ? pairs_ : none;
}

const TilePolicies::Paper* TilePolicies::paper(Policy policy, const MetContraction& met) const {
  const std::pair key(policy, met.vectors);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = papers_.find(key); found != papers_.end()) return found->second.get();
  }
  auto made = std::make_unique<const Paper>(policy, machine_, tiles_, pairs_for(met), met.for_tile);
  const std::unique_lock lock(mutex_);
  return papers_.try_emplace(key, std::move(made)).first->second.get();
}

GpuProgram TilePolicies::choose(Policy policy, const MetContraction& met) const {
  if (acting(policy) != Policy::Dyn) {
    const Paper* const own = paper(policy, met);
    const choice::KernelProgram program = own->choice->choose(product_of(met.shape));
    if (!program.regions.empty()) {
      std::vector<GpuRegion> regions = own->regions_of(program);
      const double seconds = choice::gpu_program_cost(machine_, met.for_tile, tiles_, regions);
      return {std::move(regions), seconds};
    }
  }
  return choice::select_gpu_program(machine_, met.for_tile, tiles_, pairs_for(met), met.split);
}

std::vector<ConsideredProgram> TilePolicies::considered(Policy policy,
                                                        const MetContraction& met) const {
  std::vector<ConsideredProgram> considered;
  if (acting(policy) != Policy::Dyn) {
    const Paper* const own = paper(policy, met);
    own->choice->for_each(product_of(met.shape), [&](const choice::KernelProgram& program) {
      considered.push_back({own->regions_of(program), program.seconds});
    });
    return considered;
  }
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const GpuTile& tile = tiles_[i];
    if (choice::occupancy(machine_, tile.threads(), tile.registers(), tile.shared_bytes()).blocks ==
        0)
      continue;
    considered.push_back({{{i, 0, met.shape.m, 0, met.shape.n, {}}},
                          choice::gpu_contraction_cost(machine_, met.for_tile(tile), tile)});
  }
  const choice::GpuChoice alone = choice::select_gpu_tile(machine_, met.for_tile, tiles_);
  if (alone.tile < 0) return considered;
  const auto add = [&](const GpuProgram& program) {
    considered.push_back({program.regions, program.seconds});
  };
  choice::for_each_gpu_cut(machine_, met.for_tile, tiles_, pairs_for(met),
                           tiles_[static_cast<std::size_t>(alone.tile)], add);
  if (met.split) choice::for_each_gpu_split(machine_, met.for_tile, tiles_, add);
  return considered;
}

}  // namespace dyn::ptx
