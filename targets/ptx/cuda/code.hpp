#pragma once
// Code for one GPU: assembled by the driver, and loaded.

#include <string>

#include "targets/ptx/cuda/context.hpp"
#include "targets/ptx/cuda/stream.hpp"

namespace dyn::ptx::cuda {

// The context must be current for all of these.

/// PTX text that has one kernel to a cubin, the machine code of this GPU. Throws Error(unsupported)
/// where the driver does not know this PTX, Error(device) with the driver's log for everything
/// else.
std::string assemble(const Context& context, const std::string& ptx, const std::string& symbol);

/// Loads a cubin; above the 48 KB of shared memory that every kernel may have, it asks for
/// `shared_bytes`. Throws Error(device).
LoadedKernel load_cubin(const Context& context, const std::string& cubin, const std::string& symbol,
                        int shared_bytes);

}  // namespace dyn::ptx::cuda
