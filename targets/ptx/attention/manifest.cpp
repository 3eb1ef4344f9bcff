#include "targets/ptx/attention/manifest.hpp"

#include <algorithm>
#include <array>

#include "targets/ptx/copies/vector_copies.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuAttentionTile;

/// Rooms of tiles where the extent is a symbol: each costs classes.
constexpr std::array open_rooms{64, 128, 256};

/// Fewer keys are not worth the exchange of parts through memory.
constexpr std::int64_t least_shared_keys = 256;

/// Rooms for an extent; columns of values beyond the largest make more blocks.
std::vector<int> rooms_for(graph::Dim extent) {
  const auto [low, high] = graph::bounds(extent);
  const std::int64_t most = std::min(high, most_attention_depth);
  if (low == high) return {choice::attention_room(most)};
  std::vector<int> rooms;
  for (const int room : open_rooms) {
    if (rooms.empty() || rooms.back() < most) rooms.push_back(room);
  }
  return rooms;
}

}  // namespace

AttentionManifest::AttentionManifest(const rkernel::Problem& problem,
                                     const choice::GpuMachine& machine, DType compute,
                                     bool allow_tf32)
    : problem_(problem), heads_(axis_of_shared_heads(problem)) {
  const rkernel::Attention& attention = *problem.attention;
  for (const rkernel::Operand& operand : problem.operands) {
    const auto possible =
        codegen::possible_classes(operand.strides[static_cast<std::size_t>(attention.n)]);
    lanes_.push_back(possible.size() == 1 ? possible.front() : codegen::StrideClass::Any);
  }
  const auto extent = [&](int axis) { return problem.axes[static_cast<std::size_t>(axis)].extent; };
  shares_rows_ = graph::bounds(extent(attention.keys)).high >= least_shared_keys;
  const std::vector<int> depths = rooms_for(extent(attention.d)),
                         widths = rooms_for(extent(attention.n));
  for (const int depth : depths) {
    for (const int width : widths) {
      // Where both are open, columns that are more than d make blocks of their own.
      if (depths.size() > 1 && widths.size() > 1 && width != depth) continue;
      add_tiles(choice::gpu_attention_tiles(machine, compute, allow_tf32, depth, width));
    }
  }
}

// Tiles of more rows than there can be never pay, where a smaller one has room for all.
void AttentionManifest::add_tiles(const std::vector<GpuAttentionTile>& tiles) {
  const auto most = [&](int axis) {
    return graph::bounds(problem_.axes[static_cast<std::size_t>(axis)].extent).high;
  };
  const std::int64_t queries = most(problem_.attention->m),
                     heads = heads_ < 0 ? 1 : std::max<std::int64_t>(1, most(heads_));
  for (const GpuAttentionTile& tile : tiles) {
    add_classes(tile);
    if (tile.block_m / heads >= queries) return;
  }
}

void AttentionManifest::add_classes(const GpuAttentionTile& tile) {
  const rkernel::Attention& attention = *problem_.attention;
  const auto provable = [&](int operand, int inner) {
    return provably_vectors(problem_.operands[static_cast<std::size_t>(operand)], inner,
                            tile.operands);
  };
  const std::array known{provable(attention.q, attention.d), provable(attention.k, attention.d),
                         provable(attention.v, attention.n)};
  const bool open = std::ranges::any_of(known, [](const auto& answer) { return !answer; });
  for (const bool vectors : {true, false}) {
    const auto copy = [&](std::size_t i) {
      return known[i].value_or(vectors) ? Copy::Vectors : Copy::Elements;
    };
    classes_.push_back({tile, copy(0), copy(1), copy(2), lanes_, shares_rows_, heads_});
    if (!open) return;
  }
}

bool AttentionManifest::copies_now(const GpuAttentionClass& shape_class,
                                   const codegen::SlotTable& slots,
                                   std::span<const std::int64_t> ints) const {
  const rkernel::Attention& attention = *problem_.attention;
  const auto right = [&](Copy copy, int operand, int inner) {
    return copy == Copy::Elements ||
           vectors_now(problem_, operand, inner, shape_class.tile.operands, slots, ints);
  };
  return right(shape_class.q, attention.q, attention.d) &&
         right(shape_class.k, attention.k, attention.d) &&
         right(shape_class.v, attention.v, attention.n);
}

std::vector<std::size_t> AttentionManifest::classes_for(const codegen::SlotTable& slots,
                                                        std::span<const std::int64_t> ints) const {
  const rkernel::Attention& attention = *problem_.attention;
  const std::int64_t depth = codegen::value_of(slots.extent(attention.d), ints),
                     width = codegen::value_of(slots.extent(attention.n), ints);
  // The first of two classes of one tile is for vectors.
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const GpuAttentionTile& tile = classes_[i].tile;
    if (tile.depth < depth || !copies_now(classes_[i], slots, ints)) continue;
    if (!found.empty() && classes_[found.back()].tile == tile) continue;
    if (!found.empty()) {
      const GpuAttentionTile& best = classes_[found.front()].tile;
      if (tile.depth > best.depth || (tile.width > best.width && best.width >= width)) continue;
      if (tile.width > best.width) found.clear();
    }
    found.push_back(i);
  }
  return found;
}

}  // namespace dyn::ptx
