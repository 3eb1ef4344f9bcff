#pragma once
// NumPy's .npy files, versions 1 to 3, row-major, little-endian.

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dyn/tensor.hpp"

namespace dyn::cli {

/// Texts in row-major order: UTF-8, or the bytes of a file of bytes.
struct TextArray {
  std::vector<std::string> texts;
  Shape shape;
};

/// Reads a file of numbers, or of texts (NumPy's `<U` and `|S`), whose NULs at the end are none of
/// the text. Throws Error(user) where it is no such file, naming the file and the problem;
/// Error(device) where it cannot be read.
std::variant<Tensor, TextArray> read_any_npy(const std::string& path);

/// The same where only numbers will do.
Tensor read_npy(const std::string& path);

/// Throws Error(unsupported) for bf16, which the format lacks; Error(device) where the file cannot
/// be written.
void write_npy(const std::string& path, const Tensor& tensor);

/// Writes texts as `<U`. Throws Error(unsupported) where one is not UTF-8; Error(device) where the
/// file cannot be written.
void write_npy(const std::string& path, const TextArray& array);

/// Distinct file names for tensors of these names, in the same order, without an ending. A tensor's
/// name serves where a file can have it; else `_` replaces what a file's name cannot have ("a/b" is
/// "a_b"; none leads out of its folder), and a number follows where the name is taken.
std::vector<std::string> file_names(std::span<const std::string> names);

}  // namespace dyn::cli
