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

/// A block as whole numbers of what is below it.
struct Gene {
  std::size_t tile = 0;
  std::int64_t tiles_m = 1, tiles_n = 1, lines_k = 1;
  auto operator<=>(const Gene&) const = default;
};

class Evolution {
 public:
  Evolution(const Machine& machine, const std::vector<ProductShape>& shapes,
            const KernelSpeed& speed, const DietCodeSearch& search)
      : machine_(machine), shapes_(shapes), speed_(speed), search_(search), random_(search.seed) {
    for (const TileSpeed& tile : machine.tiles)
      if (tile.columns >= machine.panel) tiles_.push_back({tile.rows, tile.columns});
  }

  EvolvedKernels run() {
    if (tiles_.empty() || shapes_.empty()) return {};
    std::set<Gene> population;
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile) add({tile, 1, 1, 1}, population);
    for (const BlockKernel& kernel : search_.first) add(gene_of(kernel), population);
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

  void add(const Gene& gene, std::set<Gene>& population) {
    if (!in_dietcode_space(machine_, kernel_of(gene))) return;
    population.insert(gene);
    if (costs_.contains(gene)) return;
    const BlockKernel kernel = kernel_of(gene);
    const double speed = speed_(kernel);
    std::vector<double>& costs = costs_[gene];
    costs.reserve(shapes_.size());
    for (const ProductShape& shape : shapes_)
      costs.push_back(dietcode_cost(machine_, kernel, speed, search_.penalty, shape));
  }

  Gene random_gene() {
    const auto factor = [&] {
      return std::int64_t{1} + static_cast<std::int64_t>(below(most_first_multiple));
    };
    return {below(tiles_.size()), factor(), factor(), factor() * factor()};
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
      case 0: gene.tile = below(tiles_.size()); break;
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

  EvolvedKernels ranked(const std::set<Gene>& population) const {
    const auto best = best_of_shapes(population);
    std::map<Gene, int> votes;
    for (const auto& [cost, gene] : best) ++votes[gene];
    std::vector<std::pair<int, Gene>> order;
    for (const auto& [gene, count] : votes) order.emplace_back(-count, gene);
    std::ranges::sort(order);
    EvolvedKernels result;
    for (const auto& [count, gene] : order) {
      if (result.kernels.size() < search_.kept) result.kernels.push_back(kernel_of(gene));
    }
    result.favourites = result.kernels.size();
    for (const auto& [sum, gene] : by_fitness(population, best)) {
      if (result.kernels.size() >= search_.kept) break;
      if (!votes.contains(gene)) result.kernels.push_back(kernel_of(gene));
    }
    return result;
  }

  const Machine& machine_;
  const std::vector<ProductShape>& shapes_;
  const KernelSpeed& speed_;
  const DietCodeSearch& search_;
  std::mt19937_64 random_;
  std::vector<std::pair<int, int>> tiles_;
  std::map<Gene, std::vector<double>> costs_;  ///< of each shape
};

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

}  // namespace

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

double dietcode_cost(const Machine& machine, const BlockKernel& kernel, double speed,
                     double penalty, const ProductShape& shape) {
  const MicroKernel block{kernel.rows, kernel.columns, kernel.depth};
  return speed * occupancy_factor(penalty, shape, block, machine.threads) *
         useful_share(shape, block);
}

EvolvedKernels evolved_kernels(const Machine& machine, const std::vector<ProductShape>& shapes,
                               const KernelSpeed& speed, const DietCodeSearch& search) {
  return Evolution(machine, shapes, speed, search).run();
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
