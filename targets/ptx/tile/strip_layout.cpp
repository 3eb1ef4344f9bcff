#include "targets/ptx/tile/strip_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/rounding.hpp"
#include "targets/ptx/tile/window_layout.hpp"

namespace dyn::ptx {
namespace {

constexpr int word_banks = 32, tap_vector_bytes = 16;
/// Larger ones would leave a multiprocessor too few blocks.
constexpr std::int64_t most_strip_bytes = 32 << 10;

}  // namespace

std::string StripLayout::key() const {
  return fmt::format(" strips {} of runs {} by {}, pitch {} gap {}", strips, run, step, pitch, gap);
}

std::optional<StripLayout> strip_layout(const rkernel::Problem& problem,
                                        const choice::GpuTile& tile) {
  if (problem.operands.empty()) return std::nullopt;
  const rkernel::Contraction& contraction = problem.contraction.value();
  const rkernel::Operand& a = problem.operands[static_cast<std::size_t>(contraction.a)];
  if (!a.window || !rkernel::lie_in_strips(*a.window, contraction.m)) return std::nullopt;
  const auto channels = a.window->channels.constant();
  const auto element = static_cast<std::int64_t>(size_of(a.dtype));
  const auto is_vectors = [&](std::int64_t taps) {
    return taps * *channels * element % tap_vector_bytes == 0;
  };
  if (!channels || *channels < 1 || is_vectors(1) || tile.block_k < choice::warp_lanes)
    return std::nullopt;
  const rkernel::WindowAxis& last = a.window->axes.back();
  // Neighbours share nothing, and each run is whole vectors.
  if (window_layout(*a.window).in_runs && last.stride.constant() == last.size.constant() &&
      is_vectors(*last.size.constant()))
    return std::nullopt;
  const rkernel::WindowAxis& above = a.window->axes[a.window->axes.size() - 2];
  const std::int64_t run = *last.size.constant() * *channels,
                     step = *last.stride.constant() * *channels, strips = *above.size.constant(),
                     word = strip_word_bytes / element, gap = round_up(run - step, word) + 3 * word,
                     pieces = tile.block_m / least_strip_windows + 2;
  const std::int64_t of_banks = word_banks * word, rest = round_up(run, word) % of_banks,
                     least = round_up(tile.block_m * step, word) + pieces * gap;
  const std::int64_t pitch = least + ((rest - least) % of_banks + of_banks) % of_banks;
  if (strips * pitch * element > most_strip_bytes) return std::nullopt;
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  return StripLayout{.run = number(run),
                     .step = number(step),
                     .strips = number(strips),
                     .word = number(word),
                     .gap = number(gap),
                     .pitch = number(pitch),
                     .element = number(element)};
}

choice::GpuTile with_windows(choice::GpuTile tile, const rkernel::Problem& problem) {
  tile.window_entry_bytes = window_entry_bytes(problem);
  const std::optional<StripLayout> strips = strip_layout(problem, tile);
  tile.strip_bytes = strips ? static_cast<int>(round_up(strips->bytes(), tap_vector_bytes)) : 0;
  return tile;
}

}  // namespace dyn::ptx
