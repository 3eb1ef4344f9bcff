#include "src/runtime/load/model_format.hpp"

#include <fmt/format.h>

#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

/// The first bytes of the tags of ModelProto's fields, as protobuf writes them: ir_version,
/// producer_name, producer_version, domain, model_version, doc_string, graph, opset_import,
/// metadata_props, training_info, functions, configuration.
constexpr std::string_view onnx_tags = "\x08\x12\x1a\x22\x28\x32\x3a\x42\x72\xa2\xca\xd2";
constexpr std::string_view text_beginnings = "# \t\r\n";

}  // namespace

ModelFormat format_of(std::string_view model, const std::string& name) {
  if (model.empty()) model_error(fmt::format("the model '{}' is empty", name));
  if (model.starts_with("dyn") || text_beginnings.find(model[0]) != model.npos)
    return ModelFormat::Text;
  if (onnx_tags.find(model[0]) != model.npos) return ModelFormat::Onnx;
  model_error(
      fmt::format("'{}' is neither dyn's text, which begins with \"dyn 1\", nor an ONNX "
                  "model: its first bytes are {:?}",
                  name, model.substr(0, format_bytes)));
}

}  // namespace dyn::runtime
