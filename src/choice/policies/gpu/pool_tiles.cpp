#include "src/choice/policies/gpu/pool_tiles.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/gpu/wave.hpp"
#include "src/choice/policies/dietcode/kernel_cost.hpp"
#include "src/choice/policies/dietcode/search.hpp"
#include "src/choice/policies/shared/best_together.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr std::size_t most_pool = 40;
constexpr int most_warps_along = 8, most_pool_warps = 16, most_random_octaves = 3;
constexpr std::int64_t synthetic_depth = 1024, most_synthetic = 4096;

bool is_aligned(const GpuTile& warp) {
  return std::has_single_bit(static_cast<unsigned>(warp.warp_m)) &&
         std::has_single_bit(static_cast<unsigned>(warp.thread_m));
}

/// Throughput of each kernel at each synthetic size, as a share of the best one's.
std::vector<std::vector<double>> wave_shares(const MicroKernels& kernels) {
  std::vector<std::vector<double>> shares(kernels.size());
  std::vector<double> seconds;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    seconds.push_back(kernels.wave_seconds(i, synthetic_depth));
  for (std::int64_t m = 1; m <= most_synthetic; m += ceil_div(m, std::int64_t{4})) {
    for (std::int64_t n = 1; n <= most_synthetic; n *= 2) {
      double best = 0;
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const std::int64_t waves =
            ceil_div(blocks_of({1, m, n, synthetic_depth}, kernels[i]), kernels.blocks_per_wave(i));
        shares[i].push_back(1 / (static_cast<double>(waves) * seconds[i]));
        best = std::max(best, shares[i].back());
      }
      for (std::vector<double>& of_kernel : shares) of_kernel.back() /= best;
    }
  }
  return shares;
}

/// Warps, blocks of whole warps, and a multiprocessor.
class GpuSpace final : public DietCodeSpace {
 public:
  GpuSpace(const GpuMachine& machine, const GpuKind& kind, const GpuTileSpeed& speed)
      : machine_(machine), speed_(speed), depth_(depth_granule(kind)), warps_(warps_by_isa(kind)) {}

  std::optional<GpuTile> tile_of(const DietCodeGene& gene) const {
    const auto [known, fresh] = tiles_.try_emplace(gene);
    if (!fresh) return known->second;
    GpuTile tile = warps_[gene.tile];
    if (gene.tiles_m * gene.tiles_n > most_block_warps || gene.lines_k > most_synthetic)
      return std::nullopt;
    tile.block_m = static_cast<int>(gene.tiles_m) * tile.warp_m;
    tile.block_n = static_cast<int>(gene.tiles_n) * tile.warp_n;
    tile.block_k = static_cast<int>(gene.lines_k) * depth_;
    if (const auto rated = with_stages(machine_, tile)) known->second = rated->tile;
    return known->second;
  }
  std::size_t tiles() const override { return warps_.size(); }
  std::int64_t units() const override { return machine_.multiprocessors; }
  std::optional<MicroKernel> block(const DietCodeGene& gene) const override {
    const std::optional<GpuTile> tile = tile_of(gene);
    if (!tile) return std::nullopt;
    return MicroKernel{tile->block_m, tile->block_n, tile->block_k};
  }
  double speed(const DietCodeGene& gene) const override { return speed_(tile_of(gene).value()); }
  DietCodeGene gene_of(const GpuTile& tile) const {
    const auto warp = std::ranges::find(warps_, below_block(tile), below_block) - warps_.begin();
    return {static_cast<std::size_t>(warp), tile.block_m / tile.warp_m, tile.block_n / tile.warp_n,
            tile.block_k / depth_};
  }

 private:
  const GpuMachine& machine_;
  const GpuTileSpeed& speed_;
  const int depth_;  ///< of one step
  const std::vector<GpuTile> warps_;
  mutable std::map<DietCodeGene, std::optional<GpuTile>> tiles_;
};

}  // namespace

std::vector<GpuTile> aligned_gpu_tiles(const GpuMachine& machine,
                                       const std::vector<GpuKind>& kinds) {
  std::vector<GpuTile> tiles;
  for (const GpuKind& kind : kinds) {
    for (GpuTile tile : warps_by_isa(kind)) {
      if (!is_aligned(tile)) continue;
      for (int rows = 1; rows <= most_warps_along; rows *= 2) {
        for (int columns = 1; columns <= most_warps_along && rows * columns <= most_pool_warps;
             columns *= 2) {
          tile.block_m = rows * tile.warp_m;
          tile.block_n = columns * tile.warp_n;
          for (const int steps : {1, 2, 4}) {
            tile.block_k = steps * depth_granule(kind);
            if (const auto rated = with_stages(machine, tile)) tiles.push_back(rated->tile);
          }
        }
      }
    }
  }
  return tiles;
}

std::vector<GpuTile> tscompiler_tiles(const GpuMachine& machine,
                                      const std::vector<GpuKind>& kinds) {
  const std::vector<GpuTile> aligned = aligned_gpu_tiles(machine, kinds);
  const GpuMicroKernels kernels(
      machine, aligned, [](const GpuTile& tile) { return timed_form(tile, synthetic_depth); });
  std::vector<GpuTile> tiles;
  for (const std::size_t best : best_together(wave_shares(kernels), most_pool))
    tiles.push_back(aligned[kernels.tile_of(best)]);
  return tiles;
}

EvolvedTiles evolved_tiles(const GpuMachine& machine, const GpuKind& kind,
                           const std::vector<ProductShape>& shapes, const GpuTileSpeed& speed,
                           const DietCodeSearch& search, const std::vector<GpuTile>& first) {
  const GpuSpace space(machine, kind, speed);
  std::vector<DietCodeGene> genes;
  for (const GpuTile& tile : first) genes.push_back(space.gene_of(tile));
  const EvolvedGenes found = evolved_genes(space, shapes, search, genes);
  EvolvedTiles result{{}, found.favourites};
  for (const DietCodeGene& gene : found.genes) result.tiles.push_back(space.tile_of(gene).value());
  return result;
}

std::vector<GpuTile> dietcode_tiles(const GpuMachine& machine, const GpuKind& kind) {
  const std::int64_t depth = dietcode_depth({});
  const GpuTileSpeed speed = [&](const GpuTile& tile) {
    const GpuWave wave =
        gpu_wave(machine, timed_form(tile, round_up(depth, tile.block_k)), tile, 1);
    return static_cast<double>(tile.block_m) * tile.block_n * static_cast<double>(depth) /
           wave.seconds();
  };
  EvolvedTiles found = evolved_tiles(machine, kind, sampled_shapes(), speed);
  found.tiles.resize(found.favourites);
  return std::move(found.tiles);
}

std::optional<GpuTile> random_dietcode_tile(const GpuMachine& machine, const GpuKind& kind,
                                            std::mt19937_64& random) {
  // Small ones more often, as large blocks seldom fit.
  const auto factor = [&](int octaves) {
    const std::uint64_t most = std::uint64_t{1}
                               << (random() % (static_cast<std::uint64_t>(octaves) + 1));
    return 1 + static_cast<int>(random() % most);
  };
  const std::vector<GpuTile> warps = warps_by_isa(kind);
  GpuTile tile = warps[random() % warps.size()];
  const int rows = factor(most_random_octaves), columns = factor(most_random_octaves);
  if (rows * columns > most_block_warps) return std::nullopt;
  tile.block_m = rows * tile.warp_m;
  tile.block_n = columns * tile.warp_n;
  tile.block_k = factor(most_random_octaves) * depth_granule(kind);
  const std::optional<RatedTile> rated = with_stages(machine, tile);
  return rated ? std::optional(rated->tile) : std::nullopt;
}

}  // namespace dyn::choice
