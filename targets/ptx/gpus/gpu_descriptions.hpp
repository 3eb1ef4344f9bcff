#pragma once
// GPUs that are described by data files (targets/ptx/gpus/NAME.json, compiled in), whether one is
// there or not.

#include <span>
#include <string>
#include <string_view>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::ptx {

std::span<const choice::GpuMachine> described_gpus();
/// A machine from the text of NAME.json. Throws Error(internal) that names the file and the key
/// where a key is missing, unknown, or of another kind than it should be.
choice::GpuMachine parse_gpu_description(const std::string& name, std::string_view text);
/// Throws Error(user) that lists the existing names.
const choice::GpuMachine& described_gpu(const std::string& name);
/// The description whose product is nearest to a real GPU's name and capability, for numbers that
/// the driver does not tell; `product` and the driver's own numbers replace the description's.
choice::GpuMachine nearest_description(const std::string& product, int compute_capability);

}  // namespace dyn::ptx
