// Fuzzes ONNX files. An accepted file becomes text that reads as the same, whose weights are in the
// safetensors file.

#include <fmt/format.h>

#include "graph/text/text.hpp"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/reader/read_model_files.hpp"
#include "src/runtime/weights/safetensors.hpp"
#include "tests/fuzz/reader.hpp"
#include "tests/support/map_reader.hpp"

using namespace dyn;

namespace {

/// The model's file, and one beside it for external data.
const fuzz::InputFile& model_file() {
  static const fuzz::InputFile file("m.onnx");
  static const bool made = [] {
    constexpr std::size_t bytes = 4096;
    std::ofstream(file.path("data.bin"), std::ios::binary) << std::string(bytes, '\1');
    return true;
  }();
  static_cast<void>(made);
  return file;
}

void check_weights(const graph::Module& module, const std::string& bytes) {
  const auto file = runtime::Safetensors::from_bytes("weights", std::as_bytes(std::span(bytes)));
  for (const graph::Value& value : module.values) {
    if (value.kind != graph::ValueKind::Weight ||
        value.weight.kind != graph::WeightSource::Kind::File)
      continue;
    const runtime::SafetensorsEntry* entry = file.find(value.name);
    if (entry == nullptr || entry->dtype != value.type.dtype ||
        entry->shape.size() != value.type.dims.size())
      fuzz::fail("the weight " + value.name + " is not in the file");
    for (std::size_t i = 0; i < entry->shape.size(); ++i) {
      if (value.type.dims[i].constant() != entry->shape[i])
        fuzz::fail("the weight " + value.name + " has another shape in the file");
    }
  }
}

/// From a file, or through a reader that has it in blocks.
onnx::Imported import_bytes(std::string_view bytes, bool from_file) {
  if (from_file) {
    model_file().write(bytes);
    return onnx::import_model(model_file().path(), "w.safetensors");
  }
  onnx::ReadModelFiles files(
      std::make_shared<testing::MapReader>(std::map<std::string, std::string>{
          {"m/m.onnx", std::string(bytes)}, {"m/data.bin", std::string(4096, '\1')}}),
      "m/m.onnx");
  return onnx::import_model(files, "w.safetensors");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onnx::Imported imported;
  if (!fuzz::accepts([&] { imported = import_bytes(fuzz::text_of(data, size), size % 2 == 0); }) ||
      imported.is_undecided())
    return 0;
  try {
    const graph::Module module = graph::parse(imported.text);
    if (!imported.weights.empty()) check_weights(module, imported.weights.take_file());
    if (graph::print(module) != imported.text)
      fuzz::fail("printing the text again gives another:\n" + imported.text + graph::print(module));
  } catch (const Error& error) {
    fuzz::fail("the text is refused:\n" + imported.text + error.what());
  }
  return 0;
}
