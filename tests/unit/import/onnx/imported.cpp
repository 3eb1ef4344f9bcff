#include "tests/unit/import/onnx/imported.hpp"

#include <doctest/doctest.h>

#include "graph/text/text.hpp"
#include "src/import/onnx/import.hpp"

namespace dyn::testing {

std::string statements_of(const OnnxFile& file) {
  const Folder folder;
  file.save(folder.path("m.onnx"));
  const std::string text = onnx::import_model(folder.path("m.onnx"), "w.safetensors").text;
  CHECK(graph::print(graph::parse(text)) == text);
  const std::size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.size() - begin - 2);
}

namespace {

void check_error_of(const OnnxFile& file, bool strict, ErrorKind kind,
                    const std::vector<std::string>& parts,
                    const std::function<void(const std::string&)>& edit) {
  const Folder folder;
  const std::string path = folder.path("m.onnx");
  file.save(path);
  if (edit) edit(path);
  try {
    onnx::ImportOptions options;
    options.strict = strict;
    onnx::import_model(path, "w.safetensors", options);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    const std::string text = error.what();
    for (const std::string& part : parts) {
      INFO(text);
      CHECK(text.find(part) != std::string::npos);
    }
    CHECK(text.find("m.onnx") != std::string::npos);
  }
}

}  // namespace

void check_error(const OnnxFile& file, ErrorKind kind, const std::vector<std::string>& parts,
                 const std::function<void(const std::string&)>& edit) {
  check_error_of(file, false, kind, parts, edit);
}

void check_strict_error(const OnnxFile& file, ErrorKind kind,
                        const std::vector<std::string>& parts) {
  check_error_of(file, true, kind, parts, {});
}

OnnxFile one_node(const std::string& op, int opset) {
  OnnxFile file(opset);
  file.input("x", {"N", 4}).output("y");
  file.node(op, {"x"}, {"y"});
  return file;
}

}  // namespace dyn::testing
