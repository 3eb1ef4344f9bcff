#pragma once
// Gathers and scatters that an emulator refuses. Bochs 2.7 raises an invalid opcode where the index
// of an EVEX gather or scatter is in register 16 or above: it takes that bit of the index for a
// part of the operand that the instruction does not have.

#include <ucontext.h>

namespace dyn::avx512_check {

/// Carries out the instruction at which `context` stopped, and moves on behind it; false where it
/// is no EVEX gather or scatter.
bool execute_refused_vsib(ucontext_t& context) noexcept;

}  // namespace dyn::avx512_check
