#pragma once
// Choices for contractions on a CPU that were made before.

#include <optional>

#include "src/base/word_table.hpp"
#include "src/choice/cpu/select.hpp"

namespace dyn::choice {

inline constexpr std::size_t choice_key_words = 15;

/// All that a choice depends on, for one machine and one set of candidates.
class ChoiceKey : public WordKey<choice_key_words> {
 public:
  ChoiceKey(const ContractionShape& shape, int threads);
};

/// Thread-safe; reading takes no lock. Predictions only; no measurement is kept.
class ChoiceMemory {
 public:
  /// Takes at most `bytes`, but room for a few choices in any case.
  explicit ChoiceMemory(std::size_t bytes) : table_(bytes) {}

  std::optional<Choice> find(const ChoiceKey& key) const;
  /// Programs of more than `most_regions` are not remembered. Where its places are taken, the
  /// oldest choice is forgotten.
  void insert(const ChoiceKey& key, const Choice& choice);
  /// Bytes of the table, whether it is full or not.
  std::size_t bytes() const noexcept { return table_.bytes(); }

  static constexpr std::size_t most_regions = 4;

 private:
  static constexpr std::size_t words_of_region = 10, words_before_regions = 3;
  using Table = WordTable<choice_key_words, words_before_regions + most_regions * words_of_region>;
  static Choice from_words(const Table::Value& words);

  Table table_;
};

}  // namespace dyn::choice
