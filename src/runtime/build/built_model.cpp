// A built model as text, and loaded.

#include <cstring>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"
#include "src/import/onnx/reader/weights.hpp"
#include "src/runtime/build/builder_state.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

constexpr const char* given_weights_file = "weights.safetensors";

/// Its elements are copied when the file is written.
onnx::ConstantTensor deferred(const Tensor& tensor) {
  return {tensor.dtype(), tensor.shape(), [tensor] {
            onnx::Tensor copy{tensor.dtype(), tensor.shape(), {}};
            copy.bytes.assign(static_cast<const char*>(tensor.raw()), tensor.bytes());
            return copy;
          }};
}

/// A line for each node, which place_of() reads.
std::string node_names(const graph::Module& module) {
  std::string lines;
  for (const graph::Node& node : module.nodes)
    lines +=
        fmt::format("  # from {} '{}'\n", node.op->name, module.value(node.outputs.front()).name);
  return lines;
}

}  // namespace

const graph::Module& BuilderState::finish() {
  if (finished_) return *finished_;
  refuse_in_definition("its own text, or a load,");
  require_open();
  if (outputs_.empty())
    model_error(fmt::format("{}: the model has no outputs", nodes().module().name));
  try {
    if (!given_weights_.empty()) weight_files_.emplace_back(given_weights_file);
    finished_ = nodes().finish(outputs_, output_names_, weight_files_);
  } catch (const Error& error) {
    broken_ = error.message();
    throw;
  }
  return *finished_;
}

const std::string& BuilderState::text() {
  if (text_.empty()) text_ = print(finish());
  return text_;
}

std::string BuilderState::weights() {
  finish();
  std::vector<onnx::Weight> tensors;
  for (const auto& [name, tensor] : given_weights_) tensors.push_back({name, deferred(tensor)});
  return onnx::Weights(std::move(tensors)).take_file();
}

/// Has a table of dims of its own, as models of other loads run beside this one. Messages name its
/// nodes, as nobody has seen its text.
graph::Module BuilderState::loadable() {
  graph::Module module = graph::parse(text(), finish().name, operators_.set());
  module.source_text = std::make_shared<const graph::SourceText>(node_names(module));
  for (graph::Value& value : module.values) value.location = {};
  for (std::size_t i = 0; i < module.nodes.size(); ++i) {
    graph::Node& node = module.nodes[i];
    node.location = {static_cast<int>(i) + 1, 0};
    for (const graph::ValueId id : node.outputs) module.value(id).location = node.location;
  }
  return module;
}

std::shared_ptr<const Model> BuilderState::load(const Options& options,
                                                const std::string& weight_directory) {
  const graph::Module module = loadable();
  const std::string file = weights();
  const std::map<std::string, std::string_view> files{{given_weights_file, file}};
  LoadRequest request;
  request.module = &module;
  request.source_name = module.source_name;
  request.weight_directory = weight_directory;
  if (!given_weights_.empty()) {
    request.files = &files;
    request.gives_files = options.device == "cpu";  // elsewhere host and device both read them
  }
  Options with_own = options;
  with_own.operators = operators_;  // the module's nodes point to them
  with_own.plugins.clear();
  return Model::load(request, with_own);
}

}  // namespace dyn::runtime
