#include "targets/ptx/contraction/manifest.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "dyn/error.hpp"
#include "targets/ptx/copies/factor_sources.hpp"
#include "targets/ptx/copies/vector_copies.hpp"

namespace dyn::ptx {
namespace {

using choice::Engine;
using choice::GpuTile;
using rkernel::Operand;
using rkernel::Problem;

/// Shorter reductions are not worth the exchange of sums through memory.
constexpr std::int64_t least_split_depth = 256;

using Operands = std::vector<const Operand*>;

// Where operands are not copied as vectors. Sizes that leave words open have no class for them:
// there would be too many.
Copy less_than_vectors(const Operands& operands, int inner, DType dtype) {
  const bool words = std::ranges::all_of(operands, [&](const Operand* operand) {
    return provably_words(*operand, inner, dtype) == true;
  });
  return words ? Copy::Words : Copy::Elements;
}

// The operands are copied alike.
std::vector<Copy> copies_for(const Operands& operands, int inner, DType dtype) {
  std::optional<bool> vectors = true;
  for (const Operand* operand : operands) {
    const std::optional<bool> own = provably_vectors(*operand, inner, dtype);
    if (vectors != false && own != true) vectors = own;
  }
  if (vectors == true) return {Copy::Vectors};
  const Copy less = less_than_vectors(operands, inner, dtype);
  return vectors ? std::vector{less} : std::vector{Copy::Vectors, less};
}

bool may_be_unit(graph::Dim stride) {
  const auto classes = codegen::possible_classes(stride);
  return std::find(classes.begin(), classes.end(), codegen::StrideClass::Unit) != classes.end();
}

}  // namespace

ContractionManifest::ContractionManifest(const Problem& problem, const std::vector<GpuTile>& tiles,
                                         const std::vector<choice::GpuPair>& pairs,
                                         const std::vector<GpuTile>& tuned)
    : problem_(problem) {
  const rkernel::Contraction& contraction = *problem.contraction;
  const Operand& b = problem.operands[static_cast<std::size_t>(contraction.b)];
  k_first_ = may_be_unit(b.strides[static_cast<std::size_t>(contraction.k)]) &&
             !may_be_unit(b.strides[static_cast<std::size_t>(contraction.n)]);
  for (int i = 0; i < static_cast<int>(problem.operands.size()); ++i) {
    const auto possible =
        codegen::possible_classes(problem.operands[static_cast<std::size_t>(i)]
                                      .strides[static_cast<std::size_t>(contraction.n)]);
    const bool decided = possible.size() == 1 && !contraction.multiplies(i);
    lanes_.push_back(decided ? possible.front() : codegen::StrideClass::Any);
  }
  outputs_ = ptx::vector_outputs(problem, lanes_);
  splits_ = graph::bounds(problem.axes[static_cast<std::size_t>(contraction.k)].extent).high >=
            least_split_depth;
  // The last tiles are those of the fallback engine: they are dropped first where there would be
  // too many classes.
  for (const GpuTile& tile : tiles) {
    std::vector<GpuContractionClass> of_tile;
    add_classes(tile, of_tile);
    if (classes_.size() + of_tile.size() > most_classes) break;
    classes_.insert(classes_.end(), of_tile.begin(), of_tile.end());
    tiles_.push_back(tile);
  }
  for (const choice::GpuPair& pair : pairs) add_pair(pair);
  all_tiles_ = tiles_;
  for (const GpuTile& tile : tuned) {
    if (std::ranges::find(all_tiles_, tile) != all_tiles_.end()) continue;
    add_classes(tile, classes_);
    all_tiles_.push_back(tile);
  }
}

BOrder ContractionManifest::b_order(const GpuTile& tile) const {
  const bool along_k =
      tile.engine == Engine::TensorCores && k_first_ && !right_factor(problem_).is_computed();
  return along_k ? BOrder::RowsAlongK : BOrder::RowsAlongN;
}

DType ContractionManifest::staged(const GpuTile& tile, int factor) const {
  return tile.staged(problem_.operands[static_cast<std::size_t>(factor)].dtype);
}

int ContractionManifest::b_inner(const GpuTile& tile) const {
  return b_order(tile) == BOrder::RowsAlongK ? problem_.contraction->k : problem_.contraction->n;
}

std::vector<Copy> ContractionManifest::a_copies(const GpuTile& tile) const {
  if (left_factor(problem_).is_computed()) return {Copy::Computed};
  const int factor = problem_.contraction->a;
  const Operand& a = problem_.operands[static_cast<std::size_t>(factor)];
  const DType dtype = staged(tile, factor);
  const std::optional<bool> strips = tile.strip_bytes > 0 ? provably_strips(a) : false;
  if (strips == true) return {Copy::Strips};
  std::vector<Copy> copies = copies_for({&a}, problem_.contraction->k, dtype);
  if (!strips) copies.insert(copies.begin(), Copy::Strips);
  return copies;
}

std::vector<Copy> ContractionManifest::b_copies(const GpuTile& tile) const {
  if (right_factor(problem_).is_computed()) return {Copy::Computed};
  const rkernel::Contraction& contraction = *problem_.contraction;
  Operands sides;
  for (const int side : contraction.right_sides())
    sides.push_back(&problem_.operands[static_cast<std::size_t>(side)]);
  return copies_for(sides, b_inner(tile), staged(tile, contraction.b));
}

void ContractionManifest::add_classes(const GpuTile& tile,
                                      std::vector<GpuContractionClass>& classes) const {
  for (const Copy a_copy : a_copies(tile)) {
    for (const Copy b_copy : b_copies(tile))
      classes.push_back({tile,
                         a_copy,
                         b_copy,
                         b_order(tile),
                         lanes_,
                         {},
                         splits_ && tile.can_be_shared(),
                         outputs_});
  }
}

void ContractionManifest::add_pair(const choice::GpuPair& pair) {
  if (classes_.size() == most_classes || std::max(pair.first, pair.second) >= tiles_.size()) return;
  std::vector<GpuContractionClass> of_first;
  add_classes(tiles_[pair.first], of_first);
  classes_.push_back(std::move(of_first.front()));
  GpuContractionClass& both = classes_.back();
  both.second = {tiles_[pair.second], both.a, both.b, both.b_order};
  both.split = false;
  pairs_.push_back(pair);
}

bool ContractionManifest::strips(const codegen::SlotTable& slots,
                                 std::span<const std::int64_t> ints) const {
  const int a = problem_.contraction->a;
  return problem_.operands[static_cast<std::size_t>(a)].window &&
         strips_now(problem_, a, slots, ints);
}

Copy ContractionManifest::a_copy(const GpuTile& tile, const codegen::SlotTable& slots,
                                 std::span<const std::int64_t> ints) const {
  if (left_factor(problem_).is_computed()) return Copy::Computed;
  if (tile.strip_bytes > 0 && strips(slots, ints)) return Copy::Strips;
  return copy_now({problem_.contraction->a}, problem_.contraction->k, tile, slots, ints);
}

Copy ContractionManifest::b_copy(const GpuTile& tile, const codegen::SlotTable& slots,
                                 std::span<const std::int64_t> ints) const {
  if (right_factor(problem_).is_computed()) return Copy::Computed;
  return copy_now(problem_.contraction->right_sides(), b_inner(tile), tile, slots, ints);
}

Copy ContractionManifest::copy_now(const std::vector<int>& factors, int inner, const GpuTile& tile,
                                   const codegen::SlotTable& slots,
                                   std::span<const std::int64_t> ints) const {
  const DType dtype = staged(tile, factors.front());
  Operands operands;
  for (const int factor : factors)
    operands.push_back(&problem_.operands[static_cast<std::size_t>(factor)]);
  const bool vectors = std::ranges::all_of(factors, [&](int factor) {
    return vectors_now(problem_, factor, inner, dtype, slots, ints);
  });
  return vectors ? Copy::Vectors : less_than_vectors(operands, inner, dtype);
}

bool ContractionManifest::loads_groups(const codegen::SlotTable& slots,
                                       std::span<const std::int64_t> ints) const {
  const auto all_of = [&](const ComputedFactor& factor) {
    return !factor.is_computed() ||
           std::ranges::all_of(sources_of(factor), [&](const FactorSource& source) {
             return groups_now(factor, source, slots, ints);
           });
  };
  return all_of(left_factor(problem_)) && all_of(right_factor(problem_));
}

RegionClass ContractionManifest::region_now(const GpuTile& tile, const codegen::SlotTable& slots,
                                            std::span<const std::int64_t> ints) const {
  return {tile, a_copy(tile, slots, ints), b_copy(tile, slots, ints), b_order(tile)};
}

GpuContractionClass ContractionManifest::class_now(const GpuTile& tile, const GpuTile* second,
                                                   const codegen::SlotTable& slots,
                                                   std::span<const std::int64_t> ints) const {
  const RegionClass own = region_now(tile, slots, ints);
  GpuContractionClass now{tile,
                          own.a,
                          own.b,
                          own.b_order,
                          lanes_,
                          {},
                          splits_ && second == nullptr && tile.can_be_shared(),
                          outputs_};
  if (second != nullptr) now.second = region_now(*second, slots, ints);
  return now;
}

std::optional<std::size_t> ContractionManifest::find(const GpuTile& tile, const GpuTile* second,
                                                     const codegen::SlotTable& slots,
                                                     std::span<const std::int64_t> ints) const {
  const RegionClass first = region_now(tile, slots, ints);
  std::optional<RegionClass> other;
  if (second != nullptr) other = region_now(*second, slots, ints);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const GpuContractionClass& own = classes_[i];
    if (own.tile == first.tile && own.a == first.a && own.b == first.b && own.second == other)
      return i;
  }
  return std::nullopt;
}

std::size_t ContractionManifest::class_for(const GpuTile& tile, const codegen::SlotTable& slots,
                                           std::span<const std::int64_t> ints) const {
  if (const auto found = find(tile, nullptr, slots, ints)) return *found;
  throw Error(ErrorKind::internal, "no shape class of " + problem_.name +
                                       " is for its strides with " + tile.to_string());
}

std::optional<std::size_t> ContractionManifest::class_for(
    const choice::GpuPair& pair, const codegen::SlotTable& slots,
    std::span<const std::int64_t> ints) const {
  return find(tiles_.at(pair.first), &tiles_.at(pair.second), slots, ints);
}

}  // namespace dyn::ptx
