#pragma once
// Models whose kernels go through the CUDA driver's functions, as tests give them.

#include <memory>
#include <string>

#include "src/runtime/load/target_factory.hpp"
#include "targets/ptx/cuda/driver.hpp"

namespace dyn::testing {

/// The driver's first GPU, with plain kernels for what it does not run. `cubins`: where they are
/// kept; empty: nowhere.
runtime::TargetFactory on_driver(std::shared_ptr<const ptx::cuda::Driver> driver,
                                 const std::string& cubins = "");

}  // namespace dyn::testing
