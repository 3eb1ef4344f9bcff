#pragma once
// Choices that were made before. A table of fixed size: what it forgets is chosen anew, with the same result.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "src/rkernel/select.hpp"

namespace dyn::rkernel {

/// All that a choice depends on, for one machine and one set of candidates.
class ChoiceKey {
 public:
  ChoiceKey(const ContractionShape& shape, int threads);

  static constexpr std::size_t word_count = 12;
  const std::array<std::uint64_t, word_count>& words() const noexcept { return words_; }
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::array<std::uint64_t, word_count> words_{};
  std::uint64_t hash_ = 0;
};

/// Thread-safe. Reading takes no lock: each place has a version, odd while it is written, and a reader that sees it change takes nothing. Predictions only; no
/// measurement is kept.
class ChoiceMemory {
 public:
  /// Takes at most `bytes`, but room for a few choices in any case.
  explicit ChoiceMemory(std::size_t bytes);

  std::optional<Choice> find(const ChoiceKey& key) const;
  /// Programs of more than `most_regions` are not remembered. Where its places are taken, the oldest choice is forgotten.
  void insert(const ChoiceKey& key, const Choice& choice);
  /// Of the table, whether it is full or not.
  std::size_t bytes() const noexcept { return sets_ * sizeof(Set); }

  static constexpr std::size_t most_regions = 4;

 private:
  static constexpr std::size_t ways = 4, words_of_region = 10, words_before_regions = 3,
                               words_of_choice = words_before_regions + most_regions * words_of_region;
  using ChoiceWords = std::array<std::uint64_t, words_of_choice>;
  struct Place {
    std::atomic<std::uint64_t> version{0};  ///< 0: empty
    std::array<std::atomic<std::uint64_t>, ChoiceKey::word_count> key{};
    std::array<std::atomic<std::uint64_t>, words_of_choice> choice{};
  };
  struct Set {
    std::array<Place, ways> places;
    std::uint64_t next = 0;  ///< the place that is written next; under the lock
  };
  static ChoiceWords to_words(const Choice& choice);
  static Choice from_words(const ChoiceWords& words);
  static bool holds(const Place& place, const ChoiceKey& key);
  Set& set_of(const ChoiceKey& key) const { return table_[(key.hash() >> 32) * sets_ >> 32]; }

  std::size_t sets_;
  std::unique_ptr<Set[]> table_;
  std::mutex writing_;
};

}  // namespace dyn::rkernel
