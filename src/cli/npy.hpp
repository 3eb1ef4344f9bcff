#pragma once
// NumPy's .npy files, versions 1 to 3, row-major, little-endian.

#include <string>

#include "dyn/tensor.hpp"

namespace dyn::cli {

/// Throws Error(user) for what is not such a file, naming the file and the problem; Error(device) where it cannot be read.
Tensor read_npy(const std::string& path);

/// Throws Error(unsupported) for bf16, which the format lacks; Error(device) where the file cannot be written.
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace dyn::cli
