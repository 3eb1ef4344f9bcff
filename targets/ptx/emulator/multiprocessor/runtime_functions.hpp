#pragma once
// The emulator's runtime as generated code calls it.

namespace dyn::ptx::emulation {

/// An array of function_count functions, by the numbers of Op and Check.
void (*const* runtime_functions())();

}  // namespace dyn::ptx::emulation
