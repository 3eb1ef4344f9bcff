#include "src/runtime/load/model_format.hpp"

#include <fmt/format.h>

#include "src/base/foreign_file.hpp"
#include "src/runtime/system/errors.hpp"
#include "src/runtime/system/mapped_file.hpp"

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
  if (const std::string_view what = foreign_file(model); !what.empty())
    model_error(fmt::format("'{}' is no model. It is {}", name, what));
  model_error(
      fmt::format("'{}' is neither dyn's text, which begins with \"dyn 1\", nor an ONNX "
                  "model: its first bytes are {:?}",
                  name, model.substr(0, 16)));
}

std::string read_model_text(const std::string& path) {
  std::string text = read_text_file(path);
  const std::string_view what = text.starts_with("dyn") ? std::string_view() : foreign_file(text);
  if (!what.empty()) model_error(fmt::format("{}: not dyn's text. It is {}", path, what));
  return text;
}

}  // namespace dyn::runtime
