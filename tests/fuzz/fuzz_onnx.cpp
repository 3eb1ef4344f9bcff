// Fuzzes ONNX files. An accepted file becomes text that reads as the same, whose weights are in the
// safetensors file.

#include <fmt/format.h>

#include "graph/text/text.hpp"
#include "src/import/onnx/import.hpp"
#include "src/runtime/weights/safetensors.hpp"
#include "tests/fuzz/reader.hpp"

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

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  model_file().write(fuzz::text_of(data, size));
  onnx::Imported imported;
  if (!fuzz::accepts(
          [&] { imported = onnx::import_model(model_file().path(), "w.safetensors"); }) ||
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
