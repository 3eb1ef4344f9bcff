#include "src/cli/quantize/model_text.hpp"

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "graph/text/text.hpp"
#include "src/cli/input/imported.hpp"
#include "src/runtime/load/model_format.hpp"

namespace dyn::cli {

using Kind = graph::WeightSource::Kind;

runtime::LoadRequest ModelText::request(std::map<std::string, std::string_view>& views) const {
  for (const auto& [file, bytes] : held) views[file] = bytes;
  runtime::LoadRequest request;
  request.text = text;
  request.source_name = name;
  request.weight_directory = directory;
  if (!held.empty()) request.files = &views;
  return request;
}

std::shared_ptr<const runtime::Model> ModelText::load(const std::string& other_text,
                                                      const Options& options) const {
  std::map<std::string, std::string_view> views;
  runtime::LoadRequest other = request(views);
  other.text = other_text;
  return runtime::Model::load(other, options);
}

ModelText model_text_of(const Arguments& arguments) {
  if (!arguments.model.ends_with(".onnx"))
    return {runtime::read_model_text(arguments.model), arguments.model,
            std::filesystem::path(arguments.model).parent_path().string()};
  const std::string file = "weights";
  onnx::Imported imported = imported_model(arguments, file);
  ModelText model{imported.text, arguments.model, ""};
  if (!imported.weights.empty()) model.held[file] = imported.weights.take_file();
  return model;
}

namespace {

/// Collects the weights that the nodes of a module read.
class WeightFile {
 public:
  explicit WeightFile(std::map<std::string, std::string> made) : made_(std::move(made)) {}

  /// They are the file's from then on.
  void add_weights(graph::Module& module, const runtime::WeightSources& sources) {
    std::vector<graph::ValueId> ids = module.outputs;
    for (const graph::Node& node : module.nodes)
      ids.insert(ids.end(), node.inputs.begin(), node.inputs.end());
    std::erase_if(ids, [&](graph::ValueId id) { return !is_stored(module.value(id)); });
    for (const graph::ValueId id : ids) add(module.value(id), sources, id);
    // Behind all of them: some are made of others.
    for (const graph::ValueId id : ids) module.value(id).weight = {};
  }

  std::string take() { return onnx::Weights(std::move(tensors_)).take_file(); }
  bool empty() const { return tensors_.empty(); }

 private:
  static bool is_stored(const graph::Value& value) {
    return value.kind == graph::ValueKind::Weight && value.weight.kind != Kind::Splat &&
           value.weight.kind != Kind::Random;
  }

  void add(const graph::Value& value, const runtime::WeightSources& sources, graph::ValueId id) {
    if (!known_.insert(value.name).second) return;
    tensors_.push_back({value.name, std::make_shared<const onnx::Tensor>(
                                        onnx::Tensor{value.type.dtype, runtime::weight_shape(value),
                                                     bytes_of(value, sources, id)})});
  }

  std::string bytes_of(const graph::Value& value, const runtime::WeightSources& sources,
                       graph::ValueId id) {
    if (const auto found = made_.find(value.name); found != made_.end())
      return std::move(found->second);
    if (value.weight.kind == Kind::File) {
      const std::span<const std::byte> bytes = sources.file_bytes(id);
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    const std::int64_t count = element_count(runtime::weight_shape(value));
    std::string bytes(static_cast<std::size_t>(count) * size_of(value.type.dtype), '\0');
    sources.fill(id, 0, count, bytes.data());
    return bytes;
  }

  std::map<std::string, std::string> made_;
  std::vector<onnx::Weight> tensors_;
  std::set<std::string> known_;
};

}  // namespace

ModelText with_weights_in(graph::Module& module, const runtime::WeightSources& sources,
                          const runtime::LoadRequest& request, const Options& options,
                          std::map<std::string, std::string> made, const std::string& file_name) {
  WeightFile file(std::move(made));
  file.add_weights(module, sources);
  for (std::shared_ptr<const graph::Module>& body : module.bodies) {
    graph::Module copy = *body;
    file.add_weights(copy, runtime::WeightSources(*body, request, options));
    body = std::make_shared<const graph::Module>(std::move(copy));
  }
  module.weight_files.clear();
  ModelText result;
  result.name = module.source_name;
  if (!file.empty()) {
    module.weight_files = {file_name};
    result.held[file_name] = file.take();
  }
  result.text = graph::print(module);
  return result;
}

}  // namespace dyn::cli
