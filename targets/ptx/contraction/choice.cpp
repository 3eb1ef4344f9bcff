#include "targets/ptx/contraction/choice.hpp"

#include <algorithm>
#include <utility>

#include "src/choice/gpu/late_tiles.hpp"

namespace dyn::ptx {

using choice::GpuContraction;
using choice::GpuPair;
using choice::GpuProgram;
using choice::GpuRegion;
using choice::GpuTile;
using rkernel::Policy;

namespace {

/// Late tiles that considered() lists.
constexpr std::size_t most_listed = 24;

choice::ProductShape product_of(const GpuContraction& shape) {
  return {shape.batch, shape.m, shape.n, shape.k};
}

}  // namespace

TilePolicies::TilePolicies(const choice::GpuMachine& machine, const std::vector<GpuTile>& tiles,
                           const std::vector<GpuPair>& pairs, TileTable& table,
                           std::shared_ptr<const choice::GpuPaperSpaces> spaces, TileFor tile_for,
                           std::shared_ptr<TileSearches> searches)
    : machine_(machine),
      tiles_(tiles),
      pairs_(pairs),
      table_(table),
      spaces_(std::move(spaces)),
      tile_for_(std::move(tile_for)),
      shared_searches_(std::move(searches)) {}

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
  return dyns_choice(met);
}

// Equal `vectors` mean that all tiles meet the contraction in one form.
TilePolicies::Search TilePolicies::search(const MetContraction& met) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = searches_.find(met.vectors); found != searches_.end())
      return found->second;
  }
  const auto make = [&] { return made_search(met); };
  Search made = met.shape.windows ? make() : shared_searches_->shared(tiles_, met.for_tile, make);
  const std::unique_lock lock(mutex_);
  return searches_.try_emplace(met.vectors, std::move(made)).first->second;
}

TilePolicies::Search TilePolicies::made_search(const MetContraction& met) const {
  std::vector<GpuTile> late;
  for (const GpuTile& tile : *choice::late_gpu_tiles(machine_, tiles_)) {
    if (const std::optional<GpuTile> own = tile_for_(tile)) late.push_back(*own);
  }
  return std::make_shared<const choice::GpuTileSearch>(machine_, tiles_, late, met.for_tile);
}

std::size_t TilePolicies::numbered(const choice::GpuTileSearch& search, int tile) const {
  const auto place = static_cast<std::size_t>(tile);
  return place < tiles_.size() ? place : table_.number_of(search.tile({tile, 0}));
}

GpuProgram TilePolicies::dyns_choice(const MetContraction& met) const {
  if (shared_searches_ == nullptr)
    return choice::select_gpu_program(machine_, met.for_tile, tiles_, pairs_for(met), met.split);
  const Search tiles = search(met);
  GpuProgram program = choice::select_gpu_program(machine_, met.for_tile, *tiles, met.shape,
                                                  pairs_for(met), met.split);
  for (GpuRegion& region : program.regions)
    region.tile = numbered(*tiles, static_cast<int>(region.tile));
  return program;
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
  return dyns_programs(met);
}

std::vector<ConsideredProgram> TilePolicies::dyns_programs(const MetContraction& met) const {
  std::vector<ConsideredProgram> considered;
  const auto add_one_region = [&](std::size_t tile, double seconds) {
    considered.push_back({{{tile, 0, met.shape.m, 0, met.shape.n, {}}}, seconds});
  };
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const GpuTile& tile = tiles_[i];
    if (choice::program_occupancy(machine_, {&tile, 1}).blocks > 0)
      add_one_region(i, choice::gpu_contraction_cost(machine_, met.for_tile(tile), tile));
  }
  choice::GpuChoice alone = choice::select_gpu_tile(machine_, met.for_tile, tiles_);
  const Search tiles = shared_searches_ != nullptr ? search(met) : nullptr;
  if (tiles != nullptr) {
    for (const choice::GpuChoice& late : tiles->cheapest_late(met.shape, most_listed))
      add_one_region(numbered(*tiles, late.tile), late.seconds);
    alone = tiles->cheapest(met.shape);
  }
  if (alone.tile < 0) return considered;
  const auto add = [&](const GpuProgram& program) {
    considered.push_back({program.regions, program.seconds});
  };
  choice::for_each_gpu_cut(
      machine_, met.for_tile, tiles_, pairs_for(met),
      tiles != nullptr ? tiles->tile(alone) : tiles_[static_cast<std::size_t>(alone.tile)], add);
  if (met.split) choice::for_each_gpu_split(machine_, met.for_tile, tiles_, add);
  return considered;
}

}  // namespace dyn::ptx
