#pragma once

#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// True where this CPU has AMX, the system lets the process use it, and tiles multiplied by it have
/// the sums of plain loops. Checked once; thread-safe.
bool has_sound_matrices(const codegen::Isa& isa);

}  // namespace dyn::cpu
