#pragma once
// Handles instructions that the CPU does not have.

namespace dyn::avx512_check {

/// From now on, an instruction that only an emulator refuses is carried out in software; any other
/// is printed as a failure, and ends the process.
void handle_illegal_instructions();
/// How many were carried out.
int instructions_carried_out();

}  // namespace dyn::avx512_check
