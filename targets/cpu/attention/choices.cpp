#include "targets/cpu/attention/choices.hpp"

#include <bit>

namespace dyn::cpu {
namespace {

using choice::AttentionChoice;
using choice::AttentionShape;
using choice::AttentionStrategy;

std::uint64_t both(int high, int low) { return word(high) << 32 | word(low); }
int high_of(std::uint64_t pair) { return static_cast<int>(pair >> 32); }
int low_of(std::uint64_t pair) { return static_cast<int>(pair & 0xffffffff); }

std::array<std::uint64_t, attention_key_words> words_of(const AttentionShape& shape, int threads) {
  const int flags = shape.causal | shape.masked << 1 | shape.keys_unit << 2 |
                    shape.values_unit << 3 | shape.fixed_order << 4 | shape.pairs << 5 |
                    shape.key_bytes << 8 | shape.value_bytes << 12;
  return {word(shape.batch), word(shape.queries),     word(shape.keys),
          word(shape.depth), word(shape.value_depth), both(threads, flags)};
}

std::array<std::uint64_t, attention_choice_words> words_of(const AttentionChoice& choice) {
  const AttentionStrategy& strategy = choice.strategy;
  const std::uint64_t splits_and_form =
      word(strategy.splits) << 1 | word(strategy.form == choice::ScoreForm::Dots);
  return {both(strategy.tile_rows, strategy.tile_columns),
          word(strategy.block_rows),
          word(strategy.block_keys),
          splits_and_form,
          both(choice.threads, choice.considered),
          std::bit_cast<std::uint64_t>(choice.seconds)};
}

AttentionChoice choice_of(const std::array<std::uint64_t, attention_choice_words>& words) {
  AttentionChoice choice;
  choice.strategy.form = (words[3] & 1) != 0 ? choice::ScoreForm::Dots : choice::ScoreForm::Panels;
  choice.strategy.tile_rows = high_of(words[0]);
  choice.strategy.tile_columns = low_of(words[0]);
  choice.strategy.block_rows = number(words[1]);
  choice.strategy.block_keys = number(words[2]);
  choice.strategy.splits = number(words[3] >> 1);
  choice.threads = high_of(words[4]);
  choice.considered = low_of(words[4]);
  choice.seconds = std::bit_cast<double>(words[5]);
  return choice;
}

}  // namespace

AttentionChoice AttentionChoices::choose(const choice::Machine& machine,
                                         const AttentionShape& shape, int threads) const {
  const Table::Key key(words_of(shape, threads));
  Table::Value known;
  if (memory_.find(key, known)) return choice_of(known);
  const AttentionChoice choice = choice::select_attention(machine, shape, threads);
  memory_.insert(key, words_of(choice));
  return choice;
}

}  // namespace dyn::cpu
