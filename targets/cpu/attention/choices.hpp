#pragma once
// Choices of the cost model for attention, remembered by shape: a model's layers share them.

#include "src/base/word_table.hpp"
#include "src/choice/cost/attention_cost.hpp"

namespace dyn::cpu {

inline constexpr std::size_t attention_key_words = 6, attention_choice_words = 6;

/// Thread-safe; what is remembered is read without a lock, and keeps to the same bytes.
class AttentionChoices {
 public:
  /// Equal calls give equal choices: the machine must be the same in all of them.
  choice::AttentionChoice choose(const choice::Machine& machine,
                                 const choice::AttentionShape& shape, int threads) const;

 private:
  static constexpr std::size_t memory_bytes = 1 << 16;  ///< some hundred choices

  using Table = WordTable<attention_key_words, attention_choice_words>;
  mutable Table memory_{memory_bytes};
};

}  // namespace dyn::cpu
