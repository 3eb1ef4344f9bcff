#pragma once
// Which programs of a contraction there is code for, whoever made them.

#include <string>

#include "src/choice/cpu/choice_memory.hpp"

namespace dyn::choice {

/// A program has so many regions at most: those that are remembered.
inline constexpr std::size_t most_program_regions = ChoiceMemory::most_regions;

/// Describes what is wrong with a choice for `threads` threads; empty where it can be launched:
/// its regions cover the output, each element once; tiles, blocks, slices and moves of each are
/// such as the machine has code for. A program of several regions runs one form of the code, and
/// leaves K whole.
std::string illegality(const Machine& machine, const ContractionShape& shape, const Choice& choice,
                       int threads);

}  // namespace dyn::choice
