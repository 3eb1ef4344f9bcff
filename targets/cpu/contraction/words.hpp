#pragma once
// Programs of contractions for people, and in the one form that all programs of the same code and
// partition have.

#include <string>

#include "src/choice/cpu/select.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// "tile 14x32, rows 3 x 14 + 1 x 11, block 53 x 768 x 3072, A as it lies, B packed at load, 1
/// thread"; of several regions each with its place.
std::string words_of(const choice::ContractionShape& shape, const choice::Choice& choice);

/// Every term of the cost of each region, a line for each layer.
std::string terms_of(const choice::Machine& machine, const choice::ContractionShape& shape,
                     const choice::Choice& choice);

/// The same program, with blocks and tiles of the sizes that they have when it runs.
choice::Choice canonical(const codegen::Isa& isa, const choice::ContractionShape& shape,
                         choice::Choice choice);

}  // namespace dyn::cpu
