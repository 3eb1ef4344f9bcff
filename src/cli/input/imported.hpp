#pragma once
// ONNX models as the command line asks for them.

#include <string>

#include "src/cli/arguments.hpp"
#include "src/import/onnx/import.hpp"

namespace dyn::cli {

/// Arguments::model, an ONNX file, with the values of --load-inputs and the dims of --free. Throws
/// Error(user) where inputs without a value decide its structure, and what the import throws.
onnx::Imported imported_model(const Arguments& arguments, const std::string& weights_name);

}  // namespace dyn::cli
