#pragma once
// How fast oneDNN is on this machine: measured once, kept on disk.

#include <functional>
#include <memory>
#include <string>

#include "targets/cpu/vendor/cost.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/vendor/onednn.hpp"

namespace dyn::cpu {

/// Times a small and a large product with a fresh right side, and the same with a packed one, on
/// one thread: the least of several rounds. Throws vendor::Unsupported where the library does
/// not do them.
VendorFigures measure_vendor(const std::shared_ptr<const vendor::OneDnn>& library,
                             const codegen::Isa& isa);

/// The same from `cache_dir` where this version of the library (OneDnn::version()) was measured
/// before on this CPU; else what `measure` gives, kept there. An empty directory: measured once per
/// process.
VendorFigures vendor_figures(const codegen::Isa& isa, const std::string& version,
                             const std::string& cache_dir,
                             const std::function<VendorFigures()>& measure);
/// The name of that file in the directory.
std::string vendor_figures_file(const codegen::Isa& isa, const std::string& version);

}  // namespace dyn::cpu
