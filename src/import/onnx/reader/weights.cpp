#include "src/import/onnx/reader/weights.hpp"

#include <cctype>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"

namespace dyn::onnx {
namespace {

/// The format has no elements of less than a byte: their codes lie there as bytes.
std::string format_name(DType dtype) {
  if (dtype == DType::boolean) return "BOOL";
  if (dtype == DType::f8e4m3fn) return "F8_E4M3";
  if (graph::packed_bits(dtype) > 0) return graph::is_signed_code(dtype) ? "I8" : "U8";
  std::string name(name_of(dtype));
  if (is_code(dtype)) name = name.substr(0, 2) + "_" + name.substr(2);
  for (char& letter : name)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

/// JSON holds no text but UTF-8.
void check_utf8(const std::string& key) {
  try {
    static_cast<void>(nlohmann::json(key).dump());
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::model,
                fmt::format("the tensor {}: its name is no UTF-8; rename it",
                            nlohmann::json(key).dump(-1, ' ', true,
                                                     nlohmann::json::error_handler_t::replace)));
  }
}

}  // namespace

Weights::Weights(std::vector<Weight> tensors) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) return;
  nlohmann::ordered_json entries = nlohmann::ordered_json::object();
  std::size_t end = 0;
  for (const Weight& weight : tensors_) {
    check_utf8(weight.key);
    const std::size_t begin = end;
    end += weight.bytes->size();
    entries[weight.key] = {{"dtype", format_name(weight.dtype)},
                           {"shape", weight.dims},
                           {"data_offsets", {begin, end}}};
  }
  std::string text = entries.dump();
  constexpr std::size_t alignment = 8;
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  for (std::size_t i = 0, length = text.size(); i < alignment; ++i, length >>= 8)
    header_ += static_cast<char>(length & 0xff);
  header_ += text;
}

std::size_t Weights::size() const noexcept {
  std::size_t bytes = header_.size();
  for (const Weight& weight : tensors_) bytes += weight.bytes->size();
  return bytes;
}

void Weights::write(std::ostream& file) const {
  file << header_;
  for (const Weight& weight : tensors_) file << *weight.bytes;
}

std::string Weights::take_file() {
  const std::size_t bytes = size();
  std::string file = std::exchange(header_, {});
  file.reserve(bytes);
  for (Weight& weight : tensors_) {
    file += *weight.bytes;
    weight.bytes.reset();
  }
  tensors_.clear();
  return file;
}

}  // namespace dyn::onnx
