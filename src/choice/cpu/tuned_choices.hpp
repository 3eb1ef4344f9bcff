#pragma once
// Choices for contractions on a CPU that a tuner made.

#include <cstddef>
#include <span>
#include <unordered_map>

#include "src/choice/cpu/choice_memory.hpp"
#include "src/rkernel/target/tuning.hpp"

namespace dyn::choice {

/// Immutable; thread-safe.
class TunedChoices {
 public:
  TunedChoices() = default;
  /// Throws Error(user) that names the file and the program's number, counted from 1, where there
  /// is no code for a program, or its text is broken.
  TunedChoices(const Machine& machine, const rkernel::Tuning& tuning);

  /// nullptr: none for exactly this problem.
  const Choice* find(const ChoiceKey& key) const;
  bool empty() const noexcept { return choices_.empty(); }

 private:
  struct Hash {
    std::size_t operator()(const ChoiceKey& key) const { return key.hash(); }
  };
  struct Equal {
    bool operator()(const ChoiceKey& a, const ChoiceKey& b) const { return a.words() == b.words(); }
  };
  std::unordered_map<ChoiceKey, Choice, Hash, Equal> choices_;
};

}  // namespace dyn::choice
