#pragma once
// A table of fixed size from words to words, for memories of choices: a forgotten choice is made
// anew, with the same result.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace dyn {

inline std::uint64_t word(std::int64_t value) { return static_cast<std::uint64_t>(value); }
inline std::int64_t number(std::uint64_t word) { return static_cast<std::int64_t>(word); }

/// Words that tell entries apart, with their hash.
template <std::size_t Words>
class WordKey {
 public:
  explicit WordKey(const std::array<std::uint64_t, Words>& words) : words_(words) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;  // 2^64 over the golden ratio, odd
    // Products with odd numbers do not wait for each other; one mix spreads their sum.
    std::uint64_t factor = golden, sum = 0;
    for (const std::uint64_t each : words_) {
      sum += (each ^ each >> 32) * factor;
      factor += 2 * golden;
    }
    hash_ = mix(sum);
  }
  const std::array<std::uint64_t, Words>& words() const noexcept { return words_; }
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  // The finalizer of MurmurHash3: every bit of the input affects every bit of the output.
  static std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdULL;
    value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return value ^ (value >> 33);
  }

  std::array<std::uint64_t, Words> words_;
  std::uint64_t hash_ = 0;
};

/// Values have at most MostWords words. Thread-safe. Reading takes no lock: each place has a
/// version, odd while it is written, and a reader that sees it change takes nothing.
template <std::size_t KeyWords, std::size_t MostWords>
class WordTable {
 public:
  using Key = WordKey<KeyWords>;
  using Value = std::array<std::uint64_t, MostWords>;

  /// Takes at most `bytes`, but room for a few entries in any case.
  explicit WordTable(std::size_t bytes)
      : sets_(std::max<std::size_t>(bytes / sizeof(Set), 1)),
        table_(std::make_unique<Set[]>(sets_)) {}

  /// Writes the first words of `value`, as many as were put in. Returns false where the key is
  /// absent; the words mean nothing then.
  bool find(const Key& key, Value& value) const {
    for (const Place& place : set_of(key).places) {
      const std::uint64_t before = place.version.load(std::memory_order_acquire);
      if (before == 0 || before % 2 != 0 || !holds(place, key)) continue;
      // Acquiring loads come before the second one of the version: where it is unchanged, no writer
      // came between.
      const std::size_t count =
          std::min<std::uint64_t>(place.count.load(std::memory_order_acquire), MostWords);
      for (std::size_t i = 0; i < count; ++i)
        value[i] = place.value[i].load(std::memory_order_acquire);
      if (place.version.load(std::memory_order_relaxed) == before) return true;
    }
    return false;
  }

  /// A key that is present keeps its value. Where all places of the key are taken, the oldest entry
  /// is forgotten.
  void insert(const Key& key, std::span<const std::uint64_t> value) {
    const std::scoped_lock lock(writing_);
    Set& set = set_of(key);
    const auto known = std::ranges::find_if(set.places, [&](const Place& place) {
      return place.version.load(std::memory_order_relaxed) != 0 && holds(place, key);
    });
    if (known != set.places.end()) return;
    Place& place = set.places[set.next++ % ways];
    const std::uint64_t version = place.version.load(std::memory_order_relaxed);
    // Releasing stores come after the first one of the version: whoever reads one of them sees an
    // odd version afterwards, or the next.
    place.version.store(version + 1, std::memory_order_relaxed);
    place.count.store(value.size(), std::memory_order_release);
    for (std::size_t i = 0; i < KeyWords; ++i)
      place.key[i].store(key.words()[i], std::memory_order_release);
    for (std::size_t i = 0; i < value.size(); ++i)
      place.value[i].store(value[i], std::memory_order_release);
    place.version.store(version + 2, std::memory_order_release);
  }

  /// Bytes of the table, whether it is full or not.
  std::size_t bytes() const noexcept { return sets_ * sizeof(Set); }

 private:
  static constexpr std::size_t ways = 4;
  struct Place {
    std::atomic<std::uint64_t> version{0};  ///< 0: empty
    std::atomic<std::uint64_t> count{0};    ///< of the value's words
    std::array<std::atomic<std::uint64_t>, KeyWords> key{};
    std::array<std::atomic<std::uint64_t>, MostWords> value{};
  };
  struct Set {
    std::array<Place, ways> places;
    std::uint64_t next = 0;  ///< the place that is written next; under the lock
  };
  static bool holds(const Place& place, const Key& key) {
    for (std::size_t i = 0; i < KeyWords; ++i) {
      if (place.key[i].load(std::memory_order_acquire) != key.words()[i]) return false;
    }
    return true;
  }
  Set& set_of(const Key& key) const { return table_[(key.hash() >> 32) * sets_ >> 32]; }

  std::size_t sets_;
  std::unique_ptr<Set[]> table_;
  std::mutex writing_;  ///< writers take it; find(), which is const, cannot
};

}  // namespace dyn
