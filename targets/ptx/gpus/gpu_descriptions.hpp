#pragma once
// GPUs that are described by data files (targets/ptx/gpus/NAME.json, compiled in, or a user's),
// whether one is there or not.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "dyn/error.hpp"
#include "src/choice/gpu/gpu.hpp"

namespace dyn::ptx {

std::span<const choice::GpuMachine> described_gpus();
/// A machine from the text of a file NAME.json. Throws Error(`kind`) that names the file and the
/// key where a key is missing, unknown, or of another kind than it should be.
choice::GpuMachine parse_gpu_description(const std::filesystem::path& file, std::string_view text,
                                         ErrorKind kind = ErrorKind::internal);
/// Throws Error(user) that lists the existing names.
const choice::GpuMachine& described_gpu(const std::string& name);
/// A described GPU by its name, or by a file that ends in ".json" and has the keys of
/// targets/ptx/gpus/a100.json; such a GPU is called as the file is, without ".json". Throws
/// Error(user) that names the file and the key for a file that cannot be read or is no description.
choice::GpuMachine gpu_by_name_or_file(const std::string& name_or_file);
/// The description whose product is nearest to a real GPU's name and capability, for numbers that
/// the driver does not tell; `product` and the driver's own numbers replace the description's.
choice::GpuMachine nearest_description(const std::string& product, int compute_capability);

}  // namespace dyn::ptx
