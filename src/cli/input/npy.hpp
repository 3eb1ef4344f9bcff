#pragma once
// NumPy's .npy files, versions 1 to 3, row-major, little-endian.

#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"

namespace dyn::cli {

/// Throws Error(user) for what is not such a file, naming the file and the problem; Error(device)
/// where it cannot be read.
Tensor read_npy(const std::string& path);

/// Throws Error(unsupported) for bf16, which the format lacks; Error(device) where the file cannot
/// be written.
void write_npy(const std::string& path, const Tensor& tensor);

/// Distinct names of files for tensors of these names, in the same order, without an ending: a
/// tensor's name where that is one, else with `_` for what a file's cannot have
/// ("a/b" is "a_b"; none leads out of its folder), and a number where that is taken.
std::vector<std::string> file_names(std::span<const std::string> names);

}  // namespace dyn::cli
