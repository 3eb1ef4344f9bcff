// Errors of imported models name the node of the file, whenever they occur.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;

namespace {

OnnxFile sum_of_two(const std::string& name) {
  OnnxFile file;
  file.input("a", {"N", 4}).input("b", {"M", 4}).output("y");
  file.node("Relu", {"a"}, {"r"});
  file.node("Add", {"r", "b"}, {"y"}).set_name(name);
  return file;
}

std::string message_of_run(const OnnxFile& file, const std::string& device) {
  std::vector<float> a(8, 1), b(12, 1);
  Options options;
  options.device = device;
  try {
    testing::run(file, {{"a", {&a, {2, 4}}}, {"b", {&b, {3, 4}}}}, options);
  } catch (const Error& error) { return error.what(); }
  return "no error";
}

}  // namespace

TEST_CASE("what sizes contradict at a run names the node") {
  for (const std::string device : {"cpu", "reference"}) {
    const std::string message = message_of_run(sum_of_two("block1/add"), device);
    INFO(message);
    CHECK(message.find("add (Add \"block1/add\"): ") != std::string::npos);
  }
  const std::string message = message_of_run(sum_of_two("two\nlines"), "cpu");
  INFO(message);
  CHECK(message.find("add (Add \"two lines\"): ") != std::string::npos);
}

TEST_CASE("every statement has the node that it is from, and the text is the same without") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  OnnxFile file;
  file.input("x", {"N", 6}).output("y");
  file.node("Sum", {"x", "x", "x"}, {"s"}).set_name("one");
  file.node("Relu", {"s"}, {"y"}).set_name("two");
  file.save(path);
  const onnx::Imported imported = onnx::import_model(path, "w.safetensors");
  const std::string text = onnx::text_with_sources(imported);
  INFO(text);
  CHECK(graph::print(graph::parse(text)) == imported.text);
  const std::string statements = text.substr(text.find("{\n") + 2);
  CHECK(statements ==
        "  s = x + x  # from Sum \"one\"\n  s_2 = s + x  # from Sum \"one\"\n  y = relu(s_2)  # "
        "from Relu \"two\"\n  return y\n}\n");
}
