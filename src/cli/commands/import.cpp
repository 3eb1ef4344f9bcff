// dynrun import: an ONNX model in dyn's own formats.

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/input/imported.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/input/standard_input.hpp"
#include "src/cli/input/written_file.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/texts.hpp"

namespace dyn::cli {
void import_model(const Arguments& arguments) {
  if (arguments.output.empty())
    refuse_standard_input(arguments.model, "say where the text goes, with --output");
  const std::filesystem::path text =
      arguments.output.empty() ? std::filesystem::path(arguments.model).replace_extension(".dyn")
                               : std::filesystem::path(arguments.output);
  const std::filesystem::path weights =
      std::filesystem::path(text).replace_extension(".safetensors");
  if (weights == text)
    throw Error(ErrorKind::user, "--output is for the text; weights get the ending .safetensors");
  show_progress("importing " + arguments.model);
  const onnx::Imported imported = imported_model(arguments, weights.filename().string());
  if (!imported.weights.empty())
    write_file(weights, [&](std::ostream& file) { imported.weights.write(file); });
  write_file(text, [&](std::ostream& file) { file << imported.text; });
  show_progress("");
  fmt::print("{}\n", text.string());
  if (!imported.weights.empty())
    fmt::print("{}: {} bytes\n", weights.string(), imported.weights.size());
  for (const auto& [title, ports] :
       {std::pair("input", &imported.inputs), std::pair("output", &imported.outputs)}) {
    for (const PortInfo& port : *ports)
      if (port.texts != nullptr)
        fmt::print("{} {}: {} texts: {}\n", title, port.name, port.texts->size(),
                   shown(*port.texts));
  }
  for (const std::string& warning : imported.warnings) show_note(warning);
  if (!imported.unlike_ones.empty())
    show_note(fmt::format(
        "{} does not hold where {} is 1, since a Squeeze without axes removes it there; the ONNX "
        "file itself runs at every size",
        text.string(), fmt::join(imported.unlike_ones.all(), " or ")));
}

}  // namespace dyn::cli
