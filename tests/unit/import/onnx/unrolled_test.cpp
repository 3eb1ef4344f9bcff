// Imported Loop and Scan, whose steps become nodes.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;
using Doubles = testing::Values;  // not dyn::Values

namespace {

onnx::GraphProto& body_of(onnx::NodeProto& node) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->set_name("body");
  return *attribute.mutable_g();
}

onnx::NodeProto& add(onnx::GraphProto& body, const std::string& op,
                     std::initializer_list<const char*> inputs, const char* output) {
  onnx::NodeProto& node = *body.add_node();
  node.set_op_type(op);
  for (const char* input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

/// total = total * 0.5 + x * step + y, each total kept; from steps `until` on, the condition is
/// false.
OnnxFile loop(std::int64_t trips, std::int64_t until) {
  OnnxFile file;
  file.input("x", {2, "N"}).output("last").output("all");
  file.integers("trips", {}, {trips}).floats("y", {1}, {0.25F});
  onnx::NodeProto& node = file.node("Loop", {"trips", "", "x"}, {"last", "all"});
  onnx::GraphProto& body = body_of(node);
  for (const char* name : {"step", "condition", "total"}) body.add_input()->set_name(name);
  onnx::TensorProto& half = *body.add_initializer();
  half.set_name("half");
  half.set_data_type(onnx::TensorProto::FLOAT);
  half.add_dims(2);
  half.add_dims(1);
  half.add_float_data(0.5F);
  half.add_float_data(0.75F);
  onnx::TensorProto& end = *body.add_initializer();
  end.set_name("end");
  end.set_data_type(onnx::TensorProto::INT64);
  end.add_int64_data(until);
  add(body, "Less", {"step", "end"}, "goes_on");
  add(body, "Cast", {"step"}, "number").add_attribute()->set_name("to");
  body.mutable_node(1)->mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
  body.mutable_node(1)->mutable_attribute(0)->set_i(onnx::TensorProto::FLOAT);
  add(body, "Mul", {"total", "half"}, "less");
  add(body, "Mul", {"x", "number"}, "more");
  add(body, "Add", {"less", "more"}, "sum");
  add(body, "Add", {"sum", "y"}, "next");
  add(body, "Identity", {"next"}, "kept");
  for (const char* name : {"goes_on", "next", "kept"}) body.add_output()->set_name(name);
  return file;
}

/// A Constant of f32[elements], each of this value.
void add_constant(onnx::GraphProto& body, const char* name, std::int64_t elements, float value) {
  onnx::AttributeProto& attribute = *add(body, "Constant", {}, name).add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute.mutable_t()->add_dims(elements);
  for (std::int64_t i = 0; i < elements; ++i) attribute.mutable_t()->add_float_data(value);
}

/// The body of a loop, whose value `next` follows from `v`.
onnx::GraphProto& add_steps(onnx::NodeProto& node) {
  onnx::GraphProto& body = body_of(node);
  for (const char* name : {"step", "condition", "v"}) body.add_input()->set_name(name);
  for (const char* name : {"condition", "next"}) body.add_output()->set_name(name);
  return body;
}

}  // namespace

TEST_CASE("constants in the bodies of loops are weights once, not once for each step") {
  constexpr std::int64_t elements = 1000;
  OnnxFile file;
  file.input("x", {"N", elements}).output("y");
  file.integers("outer", {}, {20}).integers("inner", {}, {3});
  onnx::GraphProto& body = add_steps(file.node("Loop", {"outer", "", "x"}, {"y"}));
  add_constant(body, "a", elements, 0.5F);
  add(body, "Mul", {"v", "a"}, "scaled");
  onnx::GraphProto& nested = add_steps(add(body, "Loop", {"inner", "", "scaled"}, "next"));
  add_constant(nested, "b", elements, 0.25F);
  add(nested, "Add", {"v", "b"}, "next");
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  CHECK(onnx::import_model(path, "w").weights.size() < 3 * 4 * elements);
  const std::vector<float> x(elements, 3);
  const auto y = testing::run_all(file, {{"x", Tensor::view(x, {1, elements})}});
  double expected = 3;
  for (int step = 0; step < 20; ++step) expected = expected * 0.5 + 0.75;
  testing::check_close(y[0].values, Doubles(elements, expected));
}

TEST_CASE("imported loops of known length are unrolled, as long as their condition holds") {
  for (const auto& [trips, until, steps] :
       {std::tuple{4, 100, 4}, std::tuple{7, 2, 3}, std::tuple{1, 100, 1}}) {
    CAPTURE(trips);
    std::vector<float> x = testing::random_floats(6);
    const auto y = testing::run_all(loop(trips, until), {{"x", Tensor::view(x, {2, 3})}});
    Doubles total(x.begin(), x.end()), all;
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < total.size(); ++i)
        total[i] = total[i] * (i < 3 ? 0.5 : 0.75) + static_cast<double>(x[i]) * step + 0.25;
      all.insert(all.end(), total.begin(), total.end());
    }
    testing::check_close(y[0].values, total);
    CHECK(y[1].shape == Shape{steps, 2, 3});
    testing::check_close(y[1].values, all);
  }
}

TEST_CASE("imported scans go over an axis in either direction") {
  OnnxFile file;
  file.input("start", {"N"}).input("a", {"N", 5}).input("b", {5, "N"}).output("last").output("all");
  onnx::NodeProto& node = file.node("Scan", {"start", "a", "b"}, {"last", "all"});
  testing::set(node, "num_scan_inputs", 2);
  testing::set_list(node, "scan_input_axes", {1, 0});
  testing::set_list(node, "scan_input_directions", {0, 1});
  testing::set_list(node, "scan_output_axes", {-1});
  testing::set_list(node, "scan_output_directions", {1});
  onnx::GraphProto& body = body_of(node);
  for (const char* name : {"state", "left", "right"}) body.add_input()->set_name(name);
  add(body, "Mul", {"state", "left"}, "product");
  add(body, "Sub", {"product", "right"}, "next");
  add(body, "Neg", {"next"}, "kept");
  for (const char* name : {"next", "kept"}) body.add_output()->set_name(name);
  std::vector<float> start = testing::random_floats(3), a = testing::random_floats(15),
                     b = testing::random_floats(15);
  const auto y = testing::run_all(file, {{"start", Tensor::view(start, {3})},
                                         {"a", Tensor::view(a, {3, 5})},
                                         {"b", Tensor::view(b, {5, 3})}});
  Doubles state(start.begin(), start.end()), all(15);
  for (std::size_t step = 0; step < 5; ++step)
    for (std::size_t i = 0; i < 3; ++i) {
      state[i] = state[i] * static_cast<double>(a[i * 5 + step]) -
                 static_cast<double>(b[(4 - step) * 3 + i]);
      all[i * 5 + (4 - step)] = -state[i];
    }
  testing::check_close(y[0].values, state, 1e-5);
  CHECK(y[1].shape == Shape{3, 5});
  testing::check_close(y[1].values, all, 1e-5);
}

TEST_CASE("a condition that data decide ends a loop that could be unrolled but for it") {
  OnnxFile file = loop(4, 100);
  onnx::GraphProto& body =
      *file.model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  testing::set(add(body, "ReduceMax", {"next"}, "peak"), "keepdims", 0);
  add(body, "Less", {"peak", "y"}, "below");
  body.mutable_output(0)->set_name("below");
  CHECK(testing::statements_of(file).find(" = loop(") != std::string::npos);
  const std::vector<float> x{-1, -2, -1, -3, -1, -2};
  const auto y = testing::run_all(file, {{"x", Tensor::view(x, {2, 3})}});
  CHECK(y[1].shape == Shape{4, 2, 3});
  const std::vector<float> larger{1, 2, 1, 3, 1, 2};
  CHECK(testing::run_all(file, {{"x", Tensor::view(larger, {2, 3})}})[1].shape == Shape{1, 2, 3});
}

TEST_CASE("imported loops in loops take no more nodes than their bodies have") {
  OnnxFile file;
  file.input("x", {2}).output("y").integers("trips", {}, {1000});
  onnx::GraphProto* graph = nullptr;
  onnx::NodeProto* node = &file.node("Loop", {"trips", "", "x"}, {"y"});
  for (int depth = 0; depth < 5; ++depth) {
    graph = &body_of(*node);
    const std::string inner = "v" + std::to_string(depth), result = "w" + std::to_string(depth);
    for (const std::string& name :
         {"s" + std::to_string(depth), "c" + std::to_string(depth), inner})
      graph->add_input()->set_name(name);
    graph->add_output()->set_name("c" + std::to_string(depth));
    graph->add_output()->set_name(depth < 4 ? result : inner);
    if (depth == 4) break;
    node = graph->add_node();
    node->set_op_type("Loop");
    for (const std::string& name : {std::string("trips"), std::string(), inner})
      node->add_input(name);
    node->add_output(result);
  }
  const std::string text = testing::statements_of(file);
  CHECK(text.size() < 2000);
  std::size_t loops = 0;
  for (std::size_t at = 0; (at = text.find(" = loop(", at)) != std::string::npos; ++at) ++loops;
  CHECK(loops == 4);  // the innermost one changes nothing
}
