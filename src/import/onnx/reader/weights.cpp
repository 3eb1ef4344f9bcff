#include "src/import/onnx/reader/weights.hpp"

#include <malloc.h>

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

constexpr std::size_t bytes_between_trims = std::size_t{16} << 20;

/// Gives free memory back to the system, which the C library would keep below what is in use.
void trim_heap() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

Weights::Weights(std::vector<Weight> tensors) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) return;
  nlohmann::ordered_json entries = nlohmann::ordered_json::object();
  std::size_t end = 0;
  for (const Weight& weight : tensors_) {
    check_utf8(weight.key);
    const std::size_t begin = end;
    end += weight.tensor.bytes();
    entries[weight.key] = {{"dtype", format_name(weight.tensor.dtype())},
                           {"shape", weight.tensor.dims()},
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
  for (const Weight& weight : tensors_) bytes += weight.tensor.bytes();
  return bytes;
}

void Weights::write(std::ostream& file) const {
  file << header_;
  for (const Weight& weight : tensors_) file << weight.tensor.passing()->bytes;
}

std::string Weights::take_file() {
  const std::size_t bytes = size();
  std::string file = std::exchange(header_, {});
  file.reserve(bytes);
  std::size_t released = 0;
  for (Weight& weight : tensors_) {
    file += weight.tensor.passing()->bytes;
    weight.tensor = nullptr;
    if (file.size() - released < bytes_between_trims) continue;
    released = file.size();
    trim_heap();
  }
  tensors_.clear();
  return file;
}

}  // namespace dyn::onnx
