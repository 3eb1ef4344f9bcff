// dynrun quantize: a model in fewer bits.

#include <filesystem>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/input/written_file.hpp"
#include "src/cli/quantize/quantization.hpp"

namespace dyn::cli {

void quantize_model(const Arguments& arguments) {
  const std::filesystem::path text = arguments.output;
  const std::filesystem::path weights =
      std::filesystem::path(text).replace_extension(".safetensors");
  if (weights == text)
    throw Error(ErrorKind::user, "--output is for the text; weights get the ending .safetensors");
  Quantization quantization(arguments);
  const ModelText made = quantization.make(weights.filename().string());
  const std::string& content = made.held.at(weights.filename().string());
  write_file(weights, [&](std::ostream& file) { file << content; });
  write_file(text, [&](std::ostream& file) { file << made.text; });
  fmt::print("{}\n{}\n", to_text(quantization.layer_rows(), arguments.format),
             to_text(quantization.output_rows(), arguments.format));
  fmt::print("{}\n{}: {} bytes\n", text.string(), weights.string(), content.size());
}

}  // namespace dyn::cli
