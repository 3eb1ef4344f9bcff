#include "src/base/foreign_file.hpp"

#include <algorithm>
#include <cstdint>

namespace dyn {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::size_t place;  // where the file has `mark`
  std::string_view mark;
  std::string_view what;
};

constexpr Format formats[] = {
    {0, "PK\3\4"sv, "a zip archive: unpack it, and load the model that is in it"},
    {0, "PK\5\6"sv, "an empty zip archive"},
    {0, "\x1F\x8B"sv, "compressed by gzip: unpack it"},
    {0, "\x28\xB5\x2F\xFD"sv, "compressed by zstd: unpack it"},
    {0, "\xFD\x37zXZ"sv, "compressed by xz: unpack it"},
    {0, "version https://git-lfs"sv,
     "a pointer of Git LFS, not the file that it stands for: fetch that by `git lfs pull`"},
    {0, "GGUF"sv, "a GGUF file, which dyn does not read: export the model to ONNX"},
    {0, "\x89HDF"sv, "an HDF5 file, such as Keras writes: export the model to ONNX"},
    {4, "TFL3"sv, "a model of TensorFlow Lite, which dyn does not read: export it to ONNX"},
    {0, "dyn 1"sv, "dyn's text: its name should end with .dyn"},
};

constexpr std::string_view pytorch =
    "a checkpoint of PyTorch: export the model to ONNX (torch.onnx.export)";
constexpr std::string_view pickle =
    "a pickle of Python, such as old checkpoints of PyTorch are: export the model to ONNX "
    "(torch.onnx.export)";
constexpr std::string_view safetensors =
    "a safetensors file, which has weights alone: load the model that names it";
constexpr std::string_view page =
    "a page of HTML, such as a download that failed gives: fetch the file again";

/// `word` is in lower case.
bool begins_with(std::string_view text, std::string_view word) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [&](char a, char b) { return a == lower(b); });
}

bool is_page(std::string_view head) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  return begins_with(head, "<!doctype html") || begins_with(head, "<html");
}

/// Eight bytes with the length of the JSON text that follows, the least significant one first.
bool is_safetensors(std::string_view head) {
  constexpr std::uint64_t most_text = 100'000'000;
  std::uint64_t length = 0;
  if (head.size() <= sizeof length) return false;
  for (std::size_t i = sizeof length; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(head[i]);
  return length >= 2 && length <= most_text && head[sizeof length] == '{';
}

}  // namespace

std::string_view foreign_file(std::string_view head) noexcept {
  head = head.substr(0, foreign_file_bytes);
  if (head.starts_with("PK\3\4") && head.find("data.pkl") != head.npos) return pytorch;
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return pickle;
  for (const Format& format : formats) {
    if (head.size() > format.place && head.substr(format.place).starts_with(format.mark))
      return format.what;
  }
  if (is_page(head)) return page;
  return is_safetensors(head) ? safetensors : ""sv;
}

}  // namespace dyn
