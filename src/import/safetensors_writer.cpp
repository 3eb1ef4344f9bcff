#include "src/import/safetensors_writer.hpp"

#include <cctype>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::onnx {
namespace {

/// JSON has no other text.
void check_utf8(const std::string& key) {
  try {
    static_cast<void>(nlohmann::json(key).dump());
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::model, fmt::format("the tensor {}: its name is no UTF-8; rename it", nlohmann::json(key).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
  }
}

std::string format_name(DType dtype) {
  if (dtype == DType::boolean) return "BOOL";
  std::string name(name_of(dtype));
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

}  // namespace

std::string take_safetensors(std::vector<NamedTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::size_t end = 0;
  for (const auto& [key, tensor] : tensors) {
    check_utf8(key);
    const std::size_t begin = end;
    end += tensor->bytes.size();
    header[key] = {{"dtype", format_name(tensor->dtype)}, {"shape", tensor->dims}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  constexpr std::size_t alignment = 8;
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  std::string bytes;
  bytes.reserve(alignment + text.size() + end);
  for (std::size_t i = 0, length = text.size(); i < alignment; ++i, length >>= 8) bytes += static_cast<char>(length & 0xff);
  bytes += text;
  for (NamedTensor& named : tensors) {
    bytes += named.tensor->bytes;
    named.tensor.reset();
  }
  tensors.clear();
  return bytes;
}

}  // namespace dyn::onnx
