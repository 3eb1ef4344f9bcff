#include "src/choice/cpu/choice_memory.hpp"

#include <bit>

namespace dyn::choice {
namespace {

constexpr std::uint64_t half = 0xffffffff;
std::uint64_t regions_in(std::uint64_t first_word) { return first_word & half; }

std::array<std::uint64_t, choice_key_words> words_of(const ContractionShape& shape, int threads) {
  const std::uint64_t flags = word(shape.b_packed) | word(shape.must_pack_b) << 1 |
                              word(shape.must_copy_a) << 2 | word(shape.may_dot_rest) << 3 |
                              word(shape.rest_as_rows) << 4 | word(shape.a_slides) << 5;
  const std::uint64_t kinds = static_cast<std::uint64_t>(shape.lanes) |
                              static_cast<std::uint64_t>(shape.a_dtype) << 8 |
                              static_cast<std::uint64_t>(shape.b_dtype) << 16;
  return {kinds | flags << 24 | static_cast<std::uint64_t>(shape.a_level) << 32 |
              static_cast<std::uint64_t>(shape.b_level) << 40 |
              static_cast<std::uint64_t>(shape.group) << 48 |
              static_cast<std::uint64_t>(shape.coding.scale) << 52 |
              word(shape.coding.zero_points) << 60 | word(shape.coding.bits == 8) << 61,
          word(threads) << 32 | word(shape.right_sides) << 28 | word(shape.coding.block) << 16 |
              word(shape.inlined_rows),
          word(shape.batch),
          word(shape.m),
          word(shape.n),
          word(shape.k),
          word(shape.b_row_bytes),
          std::bit_cast<std::uint32_t>(shape.a_operations) |
              static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(shape.b_operations)) << 32,
          word(shape.a_row_bytes),
          word(shape.fixed_slices),
          std::bit_cast<std::uint64_t>(shape.epilogue_operations),
          std::bit_cast<std::uint64_t>(shape.epilogue_bytes),
          static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(shape.a_distinct)) << 32 |
              word(shape.a_runs),
          word(shape.a_strips.row_elements) << 32 | word(shape.a_strips.windows),
          word(shape.a_strips.step) << 32 | word(shape.a_strips.taps)};
}

}  // namespace

ChoiceKey::ChoiceKey(const ContractionShape& shape, int threads)
    : WordKey(words_of(shape, threads)) {}

Choice ChoiceMemory::from_words(const Table::Value& words) {
  Choice choice;
  choice.threads = static_cast<int>(words[0] >> 32);
  choice.seconds = std::bit_cast<double>(words[1]);
  choice.considered = static_cast<int>(words[2] & half);
  choice.tuned = words[2] >> 32 != 0;
  choice.program.regions.reserve(regions_in(words[0]));
  for (std::size_t region = 0; region < regions_in(words[0]); ++region) {
    const std::uint64_t* of = words.data() + words_before_regions + region * words_of_region;
    rkernel::Strategy strategy;
    strategy.tile_rows = static_cast<int>(of[4] >> 32);
    strategy.tile_columns = static_cast<int>(of[4] & half);
    strategy.block_m = number(of[5]);
    strategy.block_n = number(of[6]);
    strategy.block_k = number(of[7]);
    strategy.split_k = number(of[8]);
    strategy.copy_a = (of[9] & 1) != 0;
    strategy.direct_b = (of[9] & 2) != 0;
    strategy.dot_rest = (of[9] & 4) != 0;
    strategy.lanes = static_cast<rkernel::LaneAxis>(of[9] >> 3);
    choice.program.regions.push_back(
        {number(of[0]), number(of[1]), number(of[2]), number(of[3]), strategy});
  }
  return choice;
}

std::optional<Choice> ChoiceMemory::find(const ChoiceKey& key) const {
  Table::Value words;
  if (!table_.find(key, words)) return std::nullopt;
  return from_words(words);
}

void ChoiceMemory::insert(const ChoiceKey& key, const Choice& choice) {
  const std::vector<rkernel::Region>& regions = choice.program.regions;
  if (regions.size() > most_regions) return;
  Table::Value words;
  words[0] = word(choice.threads) << 32 | regions.size();
  words[1] = std::bit_cast<std::uint64_t>(choice.seconds);
  words[2] = (word(choice.considered) & half) | word(choice.tuned) << 32;
  std::size_t at = words_before_regions;
  for (const rkernel::Region& region : regions) {
    const rkernel::Strategy& strategy = region.strategy;
    const std::uint64_t flags = word(strategy.copy_a) | word(strategy.direct_b) << 1 |
                                word(strategy.dot_rest) << 2 |
                                static_cast<std::uint64_t>(strategy.lanes) << 3;
    for (const std::uint64_t each :
         {word(region.m0), word(region.m), word(region.n0), word(region.n),
          word(strategy.tile_rows) << 32 | word(strategy.tile_columns), word(strategy.block_m),
          word(strategy.block_n), word(strategy.block_k), word(strategy.split_k), flags}) {
      words[at++] = each;
    }
  }
  table_.insert(key, std::span(words).first(at));
}

}  // namespace dyn::choice
