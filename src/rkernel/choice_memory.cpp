#include "src/rkernel/choice_memory.hpp"

#include <algorithm>
#include <bit>

namespace dyn::rkernel {
namespace {

std::uint64_t word(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;  ///< 2^64 over the golden ratio, odd

// The finalizer of MurmurHash3: every bit of the input reaches every bit of the output.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdULL;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

constexpr std::uint64_t half = 0xffffffff;
std::uint64_t regions_in(std::uint64_t first_word) { return first_word & half; }

}  // namespace

ChoiceKey::ChoiceKey(const ContractionShape& shape, int threads) {
  const std::uint64_t flags = word(shape.b_packed) | word(shape.must_pack_b) << 1 | word(shape.must_copy_a) << 2 | word(shape.may_dot_rest) << 3;
  const std::uint64_t kinds = static_cast<std::uint64_t>(shape.lanes) | static_cast<std::uint64_t>(shape.a_dtype) << 8 | static_cast<std::uint64_t>(shape.b_dtype) << 16;
  words_ = {kinds | flags << 24 | static_cast<std::uint64_t>(shape.a_level) << 32 | static_cast<std::uint64_t>(shape.b_level) << 40,
            word(threads) << 32 | word(shape.inlined_rows),
            word(shape.batch), word(shape.m), word(shape.n), word(shape.k), word(shape.b_row_bytes), word(shape.a_row_bytes), word(shape.fixed_slices),
            std::bit_cast<std::uint64_t>(shape.epilogue_operations), std::bit_cast<std::uint64_t>(shape.epilogue_bytes), 0};
  // Products with odd numbers do not wait for each other; one mix spreads their sum.
  std::uint64_t factor = golden, sum = 0;
  for (const std::uint64_t each : words_) {
    sum += (each ^ each >> 32) * factor;
    factor += 2 * golden;
  }
  hash_ = mix(sum);
}

ChoiceMemory::ChoiceMemory(std::size_t bytes) : sets_(std::max<std::size_t>(bytes / sizeof(Set), 1)), table_(std::make_unique<Set[]>(sets_)) {}

ChoiceMemory::ChoiceWords ChoiceMemory::to_words(const Choice& choice) {
  ChoiceWords words{};
  const std::vector<Region>& regions = choice.program.regions;
  words[0] = word(choice.threads) << 32 | regions.size();
  words[1] = std::bit_cast<std::uint64_t>(choice.seconds);
  words[2] = word(choice.considered);
  std::size_t at = words_before_regions;
  for (const Region& region : regions) {
    const Strategy& strategy = region.strategy;
    const std::uint64_t flags = word(strategy.copy_a) | word(strategy.direct_b) << 1 | word(strategy.dot_rest) << 2 | static_cast<std::uint64_t>(strategy.lanes) << 3;
    for (const std::uint64_t each : {word(region.m0), word(region.m), word(region.n0), word(region.n), word(strategy.tile_rows) << 32 | word(strategy.tile_columns),
                                     word(strategy.block_m), word(strategy.block_n), word(strategy.block_k), word(strategy.split_k), flags}) {
      words[at++] = each;
    }
  }
  return words;
}

Choice ChoiceMemory::from_words(const ChoiceWords& words) {
  Choice choice;
  choice.threads = static_cast<int>(words[0] >> 32);
  choice.seconds = std::bit_cast<double>(words[1]);
  choice.considered = static_cast<int>(words[2]);
  choice.program.regions.reserve(regions_in(words[0]));
  for (std::size_t region = 0; region < regions_in(words[0]); ++region) {
    const std::uint64_t* of = words.data() + words_before_regions + region * words_of_region;
    Strategy strategy;
    strategy.tile_rows = static_cast<int>(of[4] >> 32);
    strategy.tile_columns = static_cast<int>(of[4] & half);
    strategy.block_m = number(of[5]);
    strategy.block_n = number(of[6]);
    strategy.block_k = number(of[7]);
    strategy.split_k = number(of[8]);
    strategy.copy_a = (of[9] & 1) != 0;
    strategy.direct_b = (of[9] & 2) != 0;
    strategy.dot_rest = (of[9] & 4) != 0;
    strategy.lanes = static_cast<LaneAxis>(of[9] >> 3);
    choice.program.regions.push_back({number(of[0]), number(of[1]), number(of[2]), number(of[3]), strategy});
  }
  return choice;
}

bool ChoiceMemory::holds(const Place& place, const ChoiceKey& key) {
  for (std::size_t i = 0; i < ChoiceKey::word_count; ++i) {
    if (place.key[i].load(std::memory_order_acquire) != key.words()[i]) return false;
  }
  return true;
}

std::optional<Choice> ChoiceMemory::find(const ChoiceKey& key) const {
  for (const Place& place : set_of(key).places) {
    const std::uint64_t before = place.version.load(std::memory_order_acquire);
    if (before == 0 || before % 2 != 0 || !holds(place, key)) continue;
    ChoiceWords words;
    // Acquiring loads come before the second one of the version: where it is unchanged, no writer came between.
    words[0] = place.choice[0].load(std::memory_order_acquire);
    const std::size_t count = words_before_regions + std::min<std::size_t>(regions_in(words[0]), most_regions) * words_of_region;
    for (std::size_t i = 1; i < count; ++i) words[i] = place.choice[i].load(std::memory_order_acquire);
    if (place.version.load(std::memory_order_relaxed) == before) return from_words(words);
  }
  return std::nullopt;
}

void ChoiceMemory::insert(const ChoiceKey& key, const Choice& choice) {
  if (choice.program.regions.size() > most_regions) return;
  const ChoiceWords words = to_words(choice);
  const std::scoped_lock lock(writing_);
  Set& set = set_of(key);
  const auto known = std::ranges::find_if(set.places, [&](const Place& place) { return place.version.load(std::memory_order_relaxed) != 0 && holds(place, key); });
  if (known != set.places.end()) return;
  Place& place = set.places[set.next++ % ways];
  const std::uint64_t version = place.version.load(std::memory_order_relaxed);
  // Releasing stores come after the first one of the version: who reads one of them sees an odd version afterwards, or the next.
  place.version.store(version + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < ChoiceKey::word_count; ++i) place.key[i].store(key.words()[i], std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) place.choice[i].store(words[i], std::memory_order_release);
  place.version.store(version + 2, std::memory_order_release);
}

}  // namespace dyn::rkernel
