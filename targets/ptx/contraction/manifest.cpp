#include "targets/ptx/contraction/manifest.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "dyn/error.hpp"
#include "targets/ptx/copies/vector_copies.hpp"

namespace dyn::ptx {
namespace {

using choice::Engine;
using choice::GpuTile;
using rkernel::Operand;
using rkernel::Problem;

/// Shorter reductions are not worth the exchange of sums through memory.
constexpr std::int64_t least_split_depth = 256;

// Where an operand is not copied as vectors. Sizes that leave words open have no class for them:
// there would be too many.
Copy less_than_vectors(const Operand& operand, int inner, DType dtype) {
  return provably_words(operand, inner, dtype) == true ? Copy::Words : Copy::Elements;
}

std::vector<Copy> copies_for(const Operand& operand, int inner, DType dtype) {
  const std::optional<bool> vectors = provably_vectors(operand, inner, dtype);
  if (vectors == true) return {Copy::Vectors};
  const Copy less = less_than_vectors(operand, inner, dtype);
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
    const bool decided = possible.size() == 1 && i != contraction.a && i != contraction.b;
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
  return tile.engine == Engine::TensorCores && k_first_ ? BOrder::RowsAlongK : BOrder::RowsAlongN;
}

DType ContractionManifest::staged(const GpuTile& tile, int factor) const {
  return tile.staged(problem_.operands[static_cast<std::size_t>(factor)].dtype);
}

int ContractionManifest::b_inner(const GpuTile& tile) const {
  return b_order(tile) == BOrder::RowsAlongK ? problem_.contraction->k : problem_.contraction->n;
}

std::vector<Copy> ContractionManifest::a_copies(const GpuTile& tile) const {
  const int factor = problem_.contraction->a;
  const Operand& a = problem_.operands[static_cast<std::size_t>(factor)];
  const DType dtype = staged(tile, factor);
  const std::optional<bool> strips = tile.strip_bytes > 0 ? provably_strips(a) : false;
  if (strips == true) return {Copy::Strips};
  std::vector<Copy> copies = copies_for(a, problem_.contraction->k, dtype);
  if (!strips) copies.insert(copies.begin(), Copy::Strips);
  return copies;
}

void ContractionManifest::add_classes(const GpuTile& tile,
                                      std::vector<GpuContractionClass>& classes) const {
  const rkernel::Contraction& contraction = *problem_.contraction;
  const Operand& b = problem_.operands[static_cast<std::size_t>(contraction.b)];
  for (const Copy a_copy : a_copies(tile)) {
    for (const Copy b_copy : copies_for(b, b_inner(tile), tile.staged(b.dtype)))
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
  if (tile.strip_bytes > 0 && strips(slots, ints)) return Copy::Strips;
  return copy_now(problem_.contraction->a, problem_.contraction->k, tile, slots, ints);
}

Copy ContractionManifest::b_copy(const GpuTile& tile, const codegen::SlotTable& slots,
                                 std::span<const std::int64_t> ints) const {
  return copy_now(problem_.contraction->b, b_inner(tile), tile, slots, ints);
}

Copy ContractionManifest::copy_now(int factor, int inner, const GpuTile& tile,
                                   const codegen::SlotTable& slots,
                                   std::span<const std::int64_t> ints) const {
  const DType dtype = staged(tile, factor);
  if (vectors_now(problem_, factor, inner, dtype, slots, ints)) return Copy::Vectors;
  return less_than_vectors(problem_.operands[static_cast<std::size_t>(factor)], inner, dtype);
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
