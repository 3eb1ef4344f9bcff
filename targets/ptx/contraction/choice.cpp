#include "targets/ptx/contraction/choice.hpp"

#include <algorithm>
#include <utility>

namespace dyn::ptx {

using choice::GpuContraction;
using choice::GpuPair;
using choice::GpuProgram;
using choice::GpuRegion;
using choice::GpuTile;
using rkernel::Policy;

namespace {

choice::ProductShape product_of(const GpuContraction& shape) {
  return {shape.batch, shape.m, shape.n, shape.k};
}

}  // namespace

TilePolicies::TilePolicies(const choice::GpuMachine& machine, const std::vector<GpuTile>& tiles,
                           const std::vector<GpuPair>& pairs, TileTable& table,
                           std::shared_ptr<const choice::GpuPaperSpaces> spaces, TileFor tile_for)
    : machine_(machine),
      tiles_(tiles),
      pairs_(pairs),
      table_(table),
      spaces_(std::move(spaces)),
      tile_for_(std::move(tile_for)) {}

Policy TilePolicies::acting(Policy policy) {
  return rkernel::uses_micro_kernels(policy) && policy != Policy::Oracle ? policy : Policy::Dyn;
}

const std::vector<GpuPair>& TilePolicies::pairs_for(const MetContraction& met) const {
  static const std::vector<GpuPair> none;
  return met.pairs ? pairs_ : none;
}

TilePolicies::Paper TilePolicies::made_paper(Policy policy, const MetContraction& met) const {
  std::vector<GpuTile> tiles;
  for (const GpuTile& tile : spaces_->tiles(policy, product_of(met.shape), met.for_tile)) {
    if (const std::optional<GpuTile> own = tile_for_(tile)) tiles.push_back(*own);
  }
  const choice::TunedTiles* const tuned = spaces_->tuned(policy);
  return std::make_shared<const choice::GpuPaper>(
      policy, machine_, std::move(tiles), met.for_tile,
      tuned != nullptr ? tuned->sampled : std::vector<choice::ProductShape>());
}

// Equal `vectors` mean that all tiles meet the contraction in one form.
TilePolicies::Paper TilePolicies::paper(Policy policy, const MetContraction& met) const {
  if (choice::GpuPaperSpaces::depends_on_product(policy)) return made_paper(policy, met);
  const std::pair key(policy, met.vectors);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = papers_.find(key); found != papers_.end()) return found->second;
  }
  Paper made = made_paper(policy, met);
  const std::unique_lock lock(mutex_);
  return papers_.try_emplace(key, std::move(made)).first->second;
}

std::vector<GpuRegion> TilePolicies::numbered(const choice::GpuPaper& paper,
                                              const choice::KernelProgram& program) const {
  std::vector<GpuRegion> regions;
  for (const choice::KernelRegion& region : program.regions)
    regions.push_back({table_.number_of(paper.tiles()[region.kernel]),
                       region.m0,
                       region.m,
                       region.n0,
                       region.n,
                       {}});
  return regions;
}

GpuProgram TilePolicies::choose(Policy policy, const MetContraction& met) const {
  if (acting(policy) != Policy::Dyn) {
    const Paper own = paper(policy, met);
    const choice::KernelProgram program = own->policy().choose(product_of(met.shape));
    if (!program.regions.empty()) {
      std::vector<choice::GpuPart> parts;
      for (const choice::KernelRegion& region : program.regions) {
        const GpuTile& tile = own->tiles()[region.kernel];
        parts.push_back({met.for_tile(tile), tile, region.m0, region.n0, {}});
        parts.back().shape.m = region.m;
        parts.back().shape.n = region.n;
      }
      const double seconds = choice::gpu_program_cost(machine_, parts);
      return {numbered(*own, program), seconds};
    }
  }
  return choice::select_gpu_program(machine_, met.for_tile, tiles_, pairs_for(met), met.split);
}

std::vector<ConsideredProgram> TilePolicies::considered(Policy policy,
                                                        const MetContraction& met) const {
  std::vector<ConsideredProgram> considered;
  if (acting(policy) != Policy::Dyn) {
    const Paper own = paper(policy, met);
    own->policy().for_each(product_of(met.shape), [&](const choice::KernelProgram& program) {
      considered.push_back({numbered(*own, program), program.seconds});
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
