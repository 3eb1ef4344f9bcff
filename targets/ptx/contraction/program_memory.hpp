#pragma once
// Remembers earlier choices for one contraction on a GPU.

#include <optional>

#include "src/base/word_table.hpp"
#include "src/choice/gpu/programs.hpp"

namespace dyn::ptx {

inline constexpr std::size_t program_key_words = 6;

/// A choice of one kernel depends on these: sizes, how far windows overlap, and the vector copies
/// that its strides allow (MetContraction::vectors).
class ProgramKey : public WordKey<program_key_words> {
 public:
  ProgramKey(const choice::GpuContraction& shape, int vectors);
};

/// Thread-safe; reading takes no lock. Predictions only; no measurement is kept.
class ProgramMemory {
 public:
  /// Takes at most `bytes`, but room for a few programs in any case.
  explicit ProgramMemory(std::size_t bytes) : table_(bytes) {}

  std::optional<choice::GpuProgram> find(const ProgramKey& key) const;
  /// Programs of more than `most_regions` are not remembered. Where the places of the key are
  /// taken, the oldest program is forgotten.
  void insert(const ProgramKey& key, const choice::GpuProgram& program);
  /// Bytes of the table, whether it is full or not.
  std::size_t bytes() const noexcept { return table_.bytes(); }

  static constexpr std::size_t most_regions = 2;

 private:
  static constexpr std::size_t words_of_region = 7, words_before_regions = 2;
  using Table = WordTable<program_key_words, words_before_regions + most_regions * words_of_region>;

  Table table_;
};

}  // namespace dyn::ptx
