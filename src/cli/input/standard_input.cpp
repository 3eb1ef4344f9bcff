#include "src/cli/input/standard_input.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/readable_file.hpp"
#include "src/import/onnx/reader/read_model_files.hpp"
#include "src/runtime/load/model_format.hpp"

namespace dyn::cli {
namespace {

constexpr const char* standard_input_name = "<stdin>";

std::string read_all() {
  if (isatty(STDIN_FILENO) != 0)
    throw Error(ErrorKind::user,
                "the model - is the standard input, which is a terminal here: give it a file, "
                "such as dynrun run - < model.onnx");
  std::string bytes;
  std::array<char, 1 << 16> some;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(ErrorKind::device,
                  fmt::format("cannot read the standard input: {}", std::strerror(errno)));
    if (got == 0) return bytes;
    bytes.append(some.data(), static_cast<std::size_t>(got));
  }
}

/// The standard input, and beside it the files of the current folder.
class InputReader final : public Reader {
 public:
  std::uint64_t size(const std::string& name) override { return ReadableFile(name).size(); }

  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override {
    const std::string bytes = ReadableFile(name).contents(offset, into.size());
    std::memcpy(into.data(), bytes.data(), bytes.size());
    return bytes.size();
  }

  std::optional<std::span<const std::byte>> in_place(const std::string& name) override {
    if (name != standard_input_name) return std::nullopt;
    return std::as_bytes(std::span(standard_input()));
  }
};

}  // namespace

bool is_standard_input(const std::string& model) { return model == "-"; }

void refuse_standard_input(const std::string& model, const char* reason) {
  if (is_standard_input(model))
    throw Error(ErrorKind::user, fmt::format("the model - is the standard input: {}", reason));
}

const std::string& standard_input() {
  static const std::string bytes = read_all();
  return bytes;
}

bool standard_input_is_onnx() {
  return runtime::format_of(standard_input(), standard_input_name) == runtime::ModelFormat::Onnx;
}

std::unique_ptr<onnx::ModelFiles> onnx_files_of_standard_input() {
  return std::make_unique<onnx::ReadModelFiles>(std::make_shared<InputReader>(),
                                                standard_input_name);
}

// A text's weights files are mapped, and kept prepacked, as those of a text in a file.
Graph load_standard_input(const Options& options) {
  if (standard_input_is_onnx())
    return Graph::from_reader(standard_input_name, std::make_shared<InputReader>(), options);
  return Graph::from_text(standard_input(), options);
}

}  // namespace dyn::cli
