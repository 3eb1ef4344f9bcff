#pragma once
// dynrun tune --policy tscompiler: micro-kernels for the machine.

#include "src/cli/arguments.hpp"

namespace dyn::cli {

/// Searches the micro-kernels of arguments.tune.policy for all shapes asked for together, on each
/// number of threads, writes them to arguments.output beside what is there, and prints what was
/// found. Throws Error(user) for another policy or device, and where no problem has blocks.
void tune_pools(const Arguments& arguments);

}  // namespace dyn::cli
