#include "src/choice/policies/dietcode/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "src/base/bytes.hpp"
#include "src/choice/policies/dietcode/kernel_cost.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr int sampled_halves = 24;  ///< sizes up to 2^(this / 2)
constexpr std::int64_t sampled_depth = 512;
constexpr std::size_t most_first_multiple = 16;
constexpr int most_random_octaves = 4;

using Gene = DietCodeGene;

class Evolution {
 public:
  Evolution(const DietCodeSpace& space, const std::vector<ProductShape>& shapes,
            const DietCodeSearch& search)
      : space_(space), shapes_(shapes), search_(search), random_(search.seed) {}

  EvolvedGenes run(std::span<const Gene> first) {
    if (space_.tiles() == 0 || shapes_.empty()) return {};
    std::set<Gene> population;
    for (std::size_t tile = 0; tile < space_.tiles(); ++tile) add({tile, 1, 1, 1}, population);
    for (const Gene& gene : first) add(gene, population);
    const auto size = static_cast<std::size_t>(search_.population);
    for (int tries = 0; population.size() < size && tries < search_.population * 16; ++tries)
      add(random_gene(), population);
    for (int generation = 0; generation < search_.generations; ++generation) {
      const std::vector<Gene> parents = selected(population);
      population = {parents.begin(), parents.end()};
      for (int child = 0; child < search_.population; ++child) {
        const Gene &a = parents[below(parents.size())], &b = parents[below(parents.size())];
        add(mutated(below(2) == 0 ? a : crossed(a, b)), population);
      }
    }
    return ranked(population);
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  void add(const Gene& gene, std::set<Gene>& population) {
    const std::optional<MicroKernel> kernel = space_.block(gene);
    if (!kernel) return;
    population.insert(gene);
    if (costs_.contains(gene)) return;
    const double speed = space_.speed(gene);
    std::vector<double>& costs = costs_[gene];
    costs.reserve(shapes_.size());
    for (const ProductShape& shape : shapes_)
      costs.push_back(dietcode_cost(space_.units(), *kernel, speed, search_.penalty, shape));
  }

  Gene random_gene() {
    const auto factor = [&] {
      return std::int64_t{1} + static_cast<std::int64_t>(below(most_first_multiple));
    };
    return {below(space_.tiles()), factor(), factor(), factor() * factor()};
  }

  Gene crossed(const Gene& a, const Gene& b) {
    return {below(2) == 0 ? a.tile : b.tile, below(2) == 0 ? a.tiles_m : b.tiles_m,
            below(2) == 0 ? a.tiles_n : b.tiles_n, below(2) == 0 ? a.lines_k : b.lines_k};
  }

  Gene mutated(Gene gene) {
    const auto moved = [&](std::int64_t factor) {
      switch (below(4)) {
        case 0: return factor * 2;
        case 1: return std::max<std::int64_t>(1, factor / 2);
        case 2: return factor + 1;
        default: return std::max<std::int64_t>(1, factor - 1);
      }
    };
    switch (below(4)) {
      case 0: gene.tile = below(space_.tiles()); break;
      case 1: gene.tiles_m = moved(gene.tiles_m); break;
      case 2: gene.tiles_n = moved(gene.tiles_n); break;
      default: gene.lines_k = moved(gene.lines_k); break;
    }
    return gene;
  }

  // For each shape the gene of the most cost, of equal ones the first, and that cost.
  std::vector<std::pair<double, Gene>> best_of_shapes(const std::set<Gene>& population) const {
    std::vector<std::pair<double, Gene>> best(shapes_.size(), {-1, {}});
    for (const Gene& gene : population) {
      const std::vector<double>& costs = costs_.at(gene);
      for (std::size_t i = 0; i < costs.size(); ++i)
        if (costs[i] > best[i].first) best[i] = {costs[i], gene};
    }
    return best;
  }

  std::vector<Gene> selected(const std::set<Gene>& population) const {
    const auto best = best_of_shapes(population);
    std::set<Gene> kept;
    for (const auto& [cost, gene] : best) kept.insert(gene);
    for (const auto& [sum, gene] : by_fitness(population, best)) {
      if (kept.size() >= static_cast<std::size_t>(search_.population)) break;
      kept.insert(gene);
    }
    return {kept.begin(), kept.end()};
  }

  // Minus the sum of shares of each shape's best cost, ascending.
  std::vector<std::pair<double, Gene>> by_fitness(
      const std::set<Gene>& population, const std::vector<std::pair<double, Gene>>& best) const {
    std::vector<std::pair<double, Gene>> fitness;
    for (const Gene& gene : population) {
      const std::vector<double>& costs = costs_.at(gene);
      double sum = 0;
      for (std::size_t i = 0; i < costs.size(); ++i) sum += costs[i] / best[i].first;
      fitness.emplace_back(-sum, gene);
    }
    std::ranges::sort(fitness);
    return fitness;
  }

  EvolvedGenes ranked(const std::set<Gene>& population) const {
    const auto best = best_of_shapes(population);
    std::map<Gene, int> votes;
    for (const auto& [cost, gene] : best) ++votes[gene];
    std::vector<std::pair<int, Gene>> order;
    for (const auto& [gene, count] : votes) order.emplace_back(-count, gene);
    std::ranges::sort(order);
    EvolvedGenes result;
    for (const auto& [count, gene] : order) {
      if (result.genes.size() < search_.kept) result.genes.push_back(gene);
    }
    result.favourites = result.genes.size();
    for (const auto& [sum, gene] : by_fitness(population, best)) {
      if (result.genes.size() >= search_.kept) break;
      if (!votes.contains(gene)) result.genes.push_back(gene);
    }
    return result;
  }

  const DietCodeSpace& space_;
  const std::vector<ProductShape>& shapes_;
  const DietCodeSearch& search_;
  std::mt19937_64 random_;
  std::map<Gene, std::vector<double>> costs_;  ///< of each shape
};

/// Register tiles of whole panels, lines of floats along K, and L2.
class CpuSpace final : public DietCodeSpace {
 public:
  CpuSpace(const Machine& machine, const KernelSpeed& speed) : machine_(machine), speed_(speed) {
    for (const TileSpeed& tile : machine.tiles)
      if (tile.columns >= machine.panel) tiles_.push_back({tile.rows, tile.columns});
  }
  BlockKernel kernel_of(const Gene& gene) const {
    const auto& [rows, columns] = tiles_[gene.tile];
    return {rows, columns, gene.tiles_m * rows, gene.tiles_n * columns, gene.lines_k * line_floats};
  }
  Gene gene_of(const BlockKernel& kernel) const {
    const auto tile = std::ranges::find(tiles_, std::pair(kernel.tile_rows, kernel.tile_columns)) -
                      tiles_.begin();
    return {static_cast<std::size_t>(tile), kernel.rows / kernel.tile_rows,
            kernel.columns / kernel.tile_columns, kernel.depth / line_floats};
  }
  std::size_t tiles() const override { return tiles_.size(); }
  std::int64_t units() const override { return machine_.threads; }
  std::optional<MicroKernel> block(const Gene& gene) const override {
    const BlockKernel kernel = kernel_of(gene);
    if (!in_dietcode_space(machine_, kernel)) return std::nullopt;
    return MicroKernel{kernel.rows, kernel.columns, kernel.depth};
  }
  double speed(const Gene& gene) const override { return speed_(kernel_of(gene)); }

 private:
  const Machine& machine_;
  const KernelSpeed& speed_;
  std::vector<std::pair<int, int>> tiles_;
};

}  // namespace

std::vector<ProductShape> sampled_shapes() {
  std::vector<ProductShape> shapes;
  for (int i = 0; i <= sampled_halves; ++i) {
    for (int j = 0; j <= sampled_halves; ++j) {
      const auto size = [](int halves) { return std::llround(std::exp2(halves / 2.0)); };
      shapes.push_back({1, size(i), size(j), sampled_depth});
    }
  }
  return shapes;
}

bool in_dietcode_space(const Machine& machine, const BlockKernel& kernel) {
  return machine.find_tile(kernel.tile_rows, kernel.tile_columns) != nullptr &&
         kernel.tile_columns % machine.panel == 0 && kernel.rows > 0 && kernel.columns > 0 &&
         kernel.depth > 0 && kernel.rows % kernel.tile_rows == 0 &&
         kernel.columns % kernel.tile_columns == 0 && kernel.depth % line_floats == 0 &&
         ((kernel.rows + kernel.columns) * kernel.depth + kernel.rows * kernel.columns) *
                 float_bytes <=
             block_memory(machine).bytes;
}

std::optional<BlockKernel> random_dietcode_kernel(const Machine& machine, std::mt19937_64& random) {
  // Small ones more often, as large blocks seldom fit.
  const auto factor = [&] {
    const std::uint64_t most = std::uint64_t{1} << (random() % (most_random_octaves + 1));
    return std::int64_t{1} + static_cast<std::int64_t>(random() % most);
  };
  const TileSpeed& tile = machine.tiles[random() % machine.tiles.size()];
  BlockKernel kernel{tile.rows, tile.columns, tile.rows * factor(), tile.columns * factor()};
  kernel.depth = factor() * factor() * line_floats;
  if (!in_dietcode_space(machine, kernel)) return std::nullopt;
  return kernel;
}

double dietcode_cost(std::int64_t units, const MicroKernel& block, double speed, double penalty,
                     const ProductShape& shape) {
  return speed * occupancy_factor(penalty, shape, block, static_cast<int>(units)) *
         useful_share(shape, block);
}

double dietcode_cost(const Machine& machine, const BlockKernel& kernel, double speed,
                     double penalty, const ProductShape& shape) {
  return dietcode_cost(machine.threads, {kernel.rows, kernel.columns, kernel.depth}, speed, penalty,
                       shape);
}

EvolvedGenes evolved_genes(const DietCodeSpace& space, const std::vector<ProductShape>& shapes,
                           const DietCodeSearch& search, std::span<const DietCodeGene> first) {
  return Evolution(space, shapes, search).run(first);
}

EvolvedKernels evolved_kernels(const Machine& machine, const std::vector<ProductShape>& shapes,
                               const KernelSpeed& speed, const DietCodeSearch& search,
                               std::span<const BlockKernel> first) {
  const CpuSpace space(machine, speed);
  std::vector<Gene> genes;
  for (const BlockKernel& kernel : first) genes.push_back(space.gene_of(kernel));
  const EvolvedGenes found = evolved_genes(space, shapes, search, genes);
  EvolvedKernels result{{}, found.favourites};
  for (const Gene& gene : found.genes) result.kernels.push_back(space.kernel_of(gene));
  return result;
}

std::vector<BlockPlan> dietcode_blocks(const Machine& machine) {
  const std::int64_t depth = dietcode_depth({});
  const KernelSpeed speed = [&](const BlockKernel& kernel) {
    return static_cast<double>(kernel.rows * kernel.columns * depth) /
           predicted_seconds(machine, kernel, depth, {}, 1);
  };
  const EvolvedKernels found = evolved_kernels(machine, sampled_shapes(), speed);
  std::vector<BlockPlan> plans;
  for (std::size_t i = 0; i < found.favourites; ++i)
    plans.push_back({found.kernels[i], {depth}, true});
  return plans;
}

}  // namespace dyn::choice
