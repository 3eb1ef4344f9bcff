#pragma once
// Lowering A: device IR to PTX, through LLVM's NVPTX back end.

#include <string>

namespace llvm {
class Module;
}

namespace dyn::ptx {

/// The PTX is for compute_80, right for every later GPU; the driver must know this version of PTX.
inline constexpr const char* ptx_cpu = "sm_80";
inline constexpr const char* ptx_features = "+ptx71";
inline constexpr int ptx_version = 71;

/// PTX of a device module, which is not changed. Thread-safe for modules of different contexts.
/// `hash` receives module_hash() of the module that was lowered.
std::string lower_to_ptx(const llvm::Module& device_module, std::string* hash = nullptr);

}  // namespace dyn::ptx
