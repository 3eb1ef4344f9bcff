#include "targets/ptx/copies/vector_copies.hpp"

#include <algorithm>
#include <vector>

#include "targets/ptx/tile/strip_layout.hpp"
#include "targets/ptx/tile/window_layout.hpp"

namespace dyn::ptx {
namespace {

using rkernel::Operand;
using rkernel::Problem;

constexpr std::int64_t vector_bytes = 16, word_bytes = 4;
/// Places of elements along a row of the tensor are numbers of 32 bits, with a sign.
constexpr std::int64_t most_places = std::int64_t{1} << 30;

std::int64_t elements_of_word(const Operand& operand) {
  return strip_word_bytes / static_cast<std::int64_t>(size_of(operand.dtype));
}

// A copy of chunks needs, besides the dtype of the tile, one distance of one element, and others
// that are whole chunks, so that every row, or tap, starts at a multiple of a chunk. Buffers begin
// at such an address (rkernel::Device::allocate).
struct ChunkNeeds {
  graph::Dim unit;
  std::vector<graph::Dim> whole;
};

ChunkNeeds needs_of(const Operand& operand, int inner) {
  ChunkNeeds needs{operand.strides[static_cast<std::size_t>(inner)], {operand.offset}};
  for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
    if (axis != inner) needs.whole.push_back(operand.strides[static_cast<std::size_t>(axis)]);
  }
  if (!operand.window) return needs;
  needs.unit = operand.window->channel_step;
  const bool in_runs = window_layout(*operand.window).in_runs;
  const rkernel::WindowAxis& last = operand.window->axes.back();
  needs.whole.push_back(in_runs ? last.size * operand.window->channels : operand.window->channels);
  for (const rkernel::WindowAxis& axis : operand.window->axes)
    needs.whole.push_back(in_runs && &axis == &last ? axis.stride * axis.step : axis.step);
  return needs;
}

std::optional<bool> provably_chunks(const Operand& operand, int inner, DType tile_dtype,
                                    std::int64_t chunk) {
  const std::int64_t elements = chunk / static_cast<std::int64_t>(size_of(operand.dtype));
  if (operand.dtype != tile_dtype || elements < 2) return false;
  const ChunkNeeds needs = needs_of(operand, inner);
  if (!needs.unit.valid()) return false;
  std::optional<bool> all = graph::prove_equal(needs.unit, needs.unit.table().constant(1));
  for (const graph::Dim dim : needs.whole) {
    if (!dim.valid() || all == false) continue;
    const std::optional<bool> is_whole = graph::prove_multiple(dim, elements);
    if (is_whole != true) all = is_whole;
  }
  return all;
}

}  // namespace

std::optional<bool> provably_vectors(const Operand& operand, int inner, DType tile_dtype) {
  return provably_chunks(operand, inner, tile_dtype, vector_bytes);
}

std::optional<bool> provably_words(const Operand& operand, int inner, DType tile_dtype) {
  return provably_chunks(operand, inner, tile_dtype, word_bytes);
}

bool vectors_now(const Problem& problem, int index, int inner, DType tile_dtype,
                 const codegen::SlotTable& slots, std::span<const std::int64_t> ints) {
  const Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  if (operand.dtype != tile_dtype) return false;
  const std::int64_t vector = vector_bytes / static_cast<std::int64_t>(size_of(operand.dtype));
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  const auto is_whole = [&](int slot) { return value(slot) % vector == 0; };
  bool all = is_whole(slots.offset(index));
  for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
    const int stride = slots.stride(index, axis);
    all = all && (axis == inner && !operand.window ? value(stride) == 1 : is_whole(stride));
  }
  if (!operand.window) return all;
  const codegen::WindowSlots& window = slots.window(index);
  const bool in_runs = window_layout(*operand.window).in_runs;
  const codegen::WindowAxisSlots& last = window.axes.back();
  const auto are_whole = [&](int times, int slot) {
    return value(times) * value(slot) % vector == 0;
  };
  return all && value(window.channel_step) == 1 &&
         (in_runs ? are_whole(last.size, window.channels) : is_whole(window.channels)) &&
         std::ranges::all_of(window.axes, [&](const codegen::WindowAxisSlots& axis) {
           return in_runs && &axis == &last ? are_whole(axis.stride, axis.step)
                                            : is_whole(axis.step);
         });
}

std::optional<bool> provably_strips(const Operand& windows) {
  const rkernel::WindowRows& rows = windows.window.value();
  const std::int64_t word = elements_of_word(windows);
  const rkernel::WindowAxis& last = rows.axes.back();
  std::optional<bool> all = true;
  const auto meet = [&](std::optional<bool> part) {
    if (all != false && part != true) all = part;
  };
  meet(graph::prove_multiple(windows.offset, word));
  for (std::size_t i = 0; i + 1 < rows.axes.size(); ++i)
    meet(graph::prove_multiple(rows.axes[i].step, word));
  const auto within = [&](graph::Dim dim, std::int64_t low, std::int64_t high) {
    const graph::Interval bounds = graph::bounds(dim);
    if (bounds.high < low || bounds.low > high) return meet(false);
    meet(bounds.low >= low && bounds.high <= high ? std::optional(true) : std::nullopt);
  };
  within(last.count, least_strip_windows, most_places);
  within(last.extent * rows.channels, 0, most_places);
  within(last.before * rows.channels, 0, most_places);
  return all;
}

bool strips_now(const Problem& problem, int index, const codegen::SlotTable& slots,
                std::span<const std::int64_t> ints) {
  const std::int64_t word = elements_of_word(problem.operands[static_cast<std::size_t>(index)]);
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  const codegen::WindowSlots& window = slots.window(index);
  const codegen::WindowAxisSlots& last = window.axes.back();
  const auto is_whole = [&](int slot) { return value(slot) % word == 0; };
  const std::int64_t most = most_places / std::max<std::int64_t>(1, value(window.channels));
  return is_whole(slots.offset(index)) && value(last.count) >= least_strip_windows &&
         value(last.extent) <= most && value(last.before) <= most &&
         std::ranges::all_of(
             std::span(window.axes).first(window.axes.size() - 1),
             [&](const codegen::WindowAxisSlots& axis) { return is_whole(axis.step); });
}

}  // namespace dyn::ptx
