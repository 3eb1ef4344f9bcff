#pragma once
// Which format a model's bytes are in.

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/foreign_file.hpp"

namespace dyn::runtime {

enum class ModelFormat { Text, Onnx };

/// format_of() reads at most so many.
inline constexpr std::size_t format_bytes = foreign_file_bytes;

/// The one rule for models without a path: dyn's text begins with `dyn`, a comment or a blank, an
/// ONNX model with the tag of a field of ModelProto; no byte begins both. Throws Error(model) for
/// anything else, and for no bytes.
ModelFormat format_of(std::string_view model, const std::string& name);

/// The contents of a file that should be dyn's text. Throws Error(device) where it cannot be read,
/// Error(model) where its first bytes are those of a file that foreign_file() knows.
std::string read_model_text(const std::string& path);

}  // namespace dyn::runtime
