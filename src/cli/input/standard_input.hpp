#pragma once
// A model from the standard input: `dynrun run - < model.onnx`.

#include <memory>
#include <string>

#include "dyn/graph.hpp"
#include "dyn/options.hpp"
#include "src/import/onnx/reader/model_files.hpp"

namespace dyn::cli {

/// Is the model called "-"?
bool is_standard_input(const std::string& model);

/// Throws Error(user) where the model is, with the reason why a command cannot take it.
void refuse_standard_input(const std::string& model, const char* reason);

/// All of the standard input, which is read the first time. Throws Error(user) where it is a
/// terminal, Error(device) where it cannot be read.
const std::string& standard_input();

/// The model in the standard input, in the format that its first bytes say. Its other files are
/// those of the current folder.
Graph load_standard_input(const Options& options);

/// Is it an ONNX model? Throws Error(model) where it is none.
bool standard_input_is_onnx();
std::unique_ptr<onnx::ModelFiles> onnx_files_of_standard_input();

}  // namespace dyn::cli
