#pragma once
// NumPy's .npy files, versions 1 to 3, row-major, little-endian.

#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"

namespace dyn::cli {

/// Reads a file. Throws Error(user) where it is no such file, naming the file and the problem;
/// Error(device) where it cannot be read.
Tensor read_npy(const std::string& path);

/// Throws Error(unsupported) for bf16, which the format lacks; Error(device) where the file cannot
/// be written.
void write_npy(const std::string& path, const Tensor& tensor);

/// Distinct file names for tensors of these names, in the same order, without an ending. A tensor's
/// name serves where a file can have it; else `_` replaces what a file's name cannot have ("a/b" is
/// "a_b"; none leads out of its folder), and a number follows where the name is taken.
std::vector<std::string> file_names(std::span<const std::string> names);

}  // namespace dyn::cli
