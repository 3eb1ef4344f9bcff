#pragma once
// ONNX models as dyn's text format and a safetensors file.

#include <string>

namespace dyn::onnx {

/// A model in dyn's own formats. The text names `weights_name` as its file of weights, where it has any.
struct Imported {
  std::string text;
  std::string weights;  ///< safetensors; empty: the model has none
};

/// Opsets that are read.
inline constexpr int first_opset = 7, last_opset = 21;

/// Named dims become symbols, unnamed ones fresh symbols. Throws Error(model) for a broken file, and Error(unsupported) for operators and dtypes that dyn does not have:
/// of operators all at once, each with its count and first node. Weights in other files are looked for below the model's folder.
Imported import_model(const std::string& path, const std::string& weights_name);

}  // namespace dyn::onnx
