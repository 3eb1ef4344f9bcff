// Files that are not as they should be, and tensors that are nearly what a model declares.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::sloppy {
namespace {

onnx::Imported imported(const OnnxFile& file, bool strict = false) {
  const Folder folder;
  file.save(folder.path("m.onnx"));
  onnx::ImportOptions options;
  options.strict = strict;
  return onnx::import_model(folder.path("m.onnx"), "w.safetensors", options);
}

void check_abs_plus_one(const OnnxFile& file) {
  std::vector<float> x = random_floats(12);
  Values expected;
  for (const float each : x) expected.push_back(std::abs(static_cast<double>(each)) + 1);
  check_close(run(file, {{"x", {&x, {3, 4}}}}).values, expected);
}

}  // namespace

TEST_CASE("nodes may stand before those that they read") {
  OnnxFile file;
  file.input("x", {"N", 4}).floats("one", {}, {1}).output("y");
  file.node("Add", {"b", "one"}, {"y"});
  file.node("Relu", {"a"}, {"b"});
  file.node("Abs", {"x"}, {"a"});
  check_abs_plus_one(file);
  const onnx::Imported lenient = imported(file);
  REQUIRE(lenient.warnings.size() == 1);
  CHECK(lenient.warnings.front().find("change places") != std::string::npos);
  check_strict_error(file, ErrorKind::model,
                     {"Add \"Add1\"", "\"b\" is defined nowhere before it"});
}

TEST_CASE("a body's nodes may stand before those that they read, and read what is around it") {
  OnnxFile file;
  file.input("x", {"N", 4}).input("c", {}, onnx::TensorProto::BOOL).floats("one", {}, {1});
  file.output("y");
  onnx::NodeProto& branch = file.node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& body = *attribute.mutable_g();
    body.set_name(name);
    const auto add = [&](const char* op, const std::vector<const char*>& inputs,
                         const char* output) {
      onnx::NodeProto& node = *body.add_node();
      node.set_op_type(op);
      for (const char* input : inputs) node.add_input(input);
      node.add_output(output);
    };
    add("Add", {"t", "one"}, "r");
    add("Abs", {"around"}, "t");
    add("NoSuchOperator", {"t"}, "unread");
    body.add_output()->set_name("r");
  }
  file.node("Neg", {"x"}, {"around"});
  std::vector<float> x = random_floats(8);
  Values expected;
  for (const float each : x) expected.push_back(std::abs(static_cast<double>(each)) + 1);
  for (const bool condition : {false, true}) {
    const NamedTensors inputs{{"x", Tensor::view(x.data(), {2, 4})},
                              {"c", Tensor::view(&condition, {})}};
    check_close(run_all(file, inputs).front().values, expected);
  }
}

TEST_CASE("what no output follows from may be broken, and is named in a warning") {
  OnnxFile file;
  file.input("x", {"N", 4}).floats("one", {}, {1}).floats("broken", {7}, {1, 2}).output("y");
  file.node("NoSuchOperator", {"x"}, {"p"});
  file.node("Abs", {"x"}, {"a"});
  file.node("Add", {"nowhere", "a"}, {"q"});
  file.node("MatMul", {"q"}, {"r"});
  file.node("Add", {"a", "one"}, {"y"});
  check_abs_plus_one(file);
  const onnx::Imported lenient = imported(file);
  REQUIRE(lenient.warnings.size() == 1);
  CHECK(lenient.warnings.front().find("NoSuchOperator") != std::string::npos);
  check_strict_error(file, ErrorKind::unsupported, {"NoSuchOperator"});
  // What is read is refused all the same.
  OnnxFile read = file;
  read.output("q");
  check_error(read, ErrorKind::model, {"\"nowhere\" is defined nowhere"});
}

TEST_CASE("a long chain that stands in reverse takes no stack") {
  OnnxFile file;
  file.input("x", {"N", 4}).output("y0");
  constexpr int length = 20'000;
  for (int i = 0; i < length; ++i)
    file.node("Identity", {"y" + std::to_string(i + 1)}, {"y" + std::to_string(i)});
  file.node("Identity", {"x"}, {"y" + std::to_string(length)});
  CHECK(imported(file).text.find("return") != std::string::npos);
}

TEST_CASE("a tensor of one element may have no dims where one is declared, and the reverse") {
  OnnxFile file;
  file.input("x", {"N", 4}).input("a", {}).input("b", {1}).input("c", {"K"}).output("y");
  file.node("Mul", {"x", "a"}, {"p"});
  file.node("Add", {"p", "b"}, {"q"});
  file.node("Sub", {"q", "c"}, {"y"});
  std::vector<float> x = random_floats(12);
  const float a = 2.5F, b = -1.25F, c = 0.75F;
  Values expected;
  for (const float each : x) expected.push_back(static_cast<double>(each) * 2.5 - 1.25 - 0.75);
  const auto inputs = [&](const Shape& of_a, const Shape& of_b, const Shape& of_c) {
    return NamedTensors{{"x", Tensor::view(x.data(), {3, 4})},
                        {"a", Tensor::view(&a, of_a)},
                        {"b", Tensor::view(&b, of_b)},
                        {"c", Tensor::view(&c, of_c)}};
  };
  for (const bool reversed : {false, true}) {
    const Shape none{}, one{1};
    check_close(
        run_all(file, reversed ? inputs(one, none, none) : inputs(none, one, one)).front().values,
        expected);
  }
  Options strict;
  strict.strict = true;
  const Graph graph = load(file, strict);
  CHECK_THROWS_AS(graph.run(inputs({1}, {1}, {1})), Error);
  CHECK_THROWS_AS(graph.run(inputs({}, {}, {1})), Error);
  // Two dims stay two dims.
  CHECK_THROWS_AS(load(file).run(inputs({1, 1}, {1}, {1})), Error);
}

TEST_CASE("what a file declares of its outputs and values may be wrong") {
  OnnxFile file;
  file.input("x", {"N", 4}).floats("one", {}, {1}).output("y");
  file.node("Abs", {"x"}, {"a"});
  file.node("Add", {"a", "one"}, {"y"});
  onnx::ValueInfoProto& value = *file.model.mutable_graph()->add_value_info();
  value.set_name("a");
  for (onnx::ValueInfoProto* wrong : {&value, file.model.mutable_graph()->mutable_output(0)}) {
    wrong->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    auto& shape = *wrong->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.add_dim()->set_dim_value(7);
  }
  check_abs_plus_one(file);
}

}  // namespace dyn::testing::sloppy
