// Imported If whose branches do not fit each other: sizes or values decide the structure, and data
// cannot.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::load;
using testing::OnnxFile;
using testing::random_floats;
using Doubles = testing::Values;  // not dyn::Values

namespace {

/// The size of x along an axis, as a list of one.
void size_of(OnnxFile& file, const std::string& x, std::int64_t axis, const std::string& size) {
  onnx::NodeProto& shape = file.node("Shape", {x}, {size});
  testing::set(testing::set(shape, "start", axis), "end", axis + 1);
}

onnx::GraphProto& branch(onnx::NodeProto& node, const char* name, const std::string& op,
                         std::initializer_list<std::string> inputs, const std::string& output) {
  onnx::GraphProto& graph = testing::graph_of(node, name);
  testing::node(graph, op, inputs, {output});
  testing::name_outputs(graph, {output});
  return graph;
}

/// y = x without this axis where it has one element, else x as it is.
void squeeze_if_one(OnnxFile& file, const std::string& x, std::int64_t axis, const std::string& y) {
  size_of(file, x, axis, y + ".size");
  file.integers(y + ".one", {1}, {1}).integers(y + ".axis", {1}, {axis});
  file.node("Equal", {y + ".size", y + ".one"}, {y + ".is_one"});
  onnx::NodeProto& node = file.node("If", {y + ".is_one"}, {y});
  branch(node, "then_branch", "Squeeze", {x, y + ".axis"}, y + ".less");
  branch(node, "else_branch", "Identity", {x}, y + ".same");
}

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

Tensor filled(const Shape& shape) {
  return Tensor::from(
      std::span<const float>(random_floats(static_cast<std::size_t>(count_of(shape)))), shape);
}

void check_negated(const Tensor& y, const Tensor& x, const Shape& shape) {
  CHECK(y.shape() == shape);
  for (std::int64_t i = 0; i < count_of(shape); ++i)
    CHECK(y.data<float>()[static_cast<std::size_t>(i)] ==
          -x.data<float>()[static_cast<std::size_t>(i)]);
}

/// [N, 2] where the condition `c` holds, else [N, 2, 1]; both of them -x.
OnnxFile unlike_branches(const std::function<void(OnnxFile&)>& condition) {
  OnnxFile file;
  file.input("x", {"N", 2}).output("y").integers("axis", {1}, {2});
  condition(file);
  onnx::NodeProto& node = file.node("If", {"c"}, {"chosen"});
  branch(node, "then_branch", "Identity", {"x"}, "flat");
  branch(node, "else_branch", "Unsqueeze", {"x", "axis"}, "column");
  file.node("Neg", {"chosen"}, {"y"});
  return file;
}

}  // namespace

TEST_CASE("imported: a branch that sizes decide may have another rank") {
  OnnxFile file;
  file.input("x", {"N", 2, "L"}).output("y");
  squeeze_if_one(file, "x", 2, "part");
  squeeze_if_one(file, "part", 0, "less");
  file.node("Neg", {"less"}, {"y"});
  const Graph graph = load(file);
  for (const Shape& shape : {Shape{3, 2, 4}, Shape{3, 2, 1}, Shape{1, 2, 5}, Shape{1, 2, 1},
                             Shape{0, 2, 4}, Shape{5, 2, 1}, Shape{3, 2, 0}}) {
    CAPTURE(to_string(shape));
    Shape expected = shape;
    if (shape[2] == 1) expected.pop_back();
    if (shape[0] == 1) expected.erase(expected.begin());
    const Tensor x = filled(shape);
    check_negated(graph.run({{"x", x}})["y"], x, expected);
    CHECK(graph.infer_shapes({{"x", shape}})[0].second == expected);
  }
}

TEST_CASE("imported: where one answer alone fits what follows sizes have it always") {
  OnnxFile file;
  file.input("x", {"N", 2, "L"}).output("y").floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  squeeze_if_one(file, "x", 2, "rows");       // must hold
  squeeze_if_one(file, "rows", 0, "either");  // may hold or not, but for what follows
  file.node("Gemm", {"rows", "w"}, {"product"});
  squeeze_if_one(file, "product", 0, "y");
  const Graph graph = load(file);
  for (const std::int64_t n : {4, 1, 2, 0}) {
    const Tensor x = filled({n, 2, 1});
    const Outputs outputs = graph.run({{"x", x}});
    CHECK(outputs["y"].shape() == (n == 1 ? Shape{3} : Shape{n, 3}));
    for (std::int64_t i = 0; i < n * 3; ++i) {
      const auto row = static_cast<std::size_t>(i / 3), column = static_cast<std::size_t>(i % 3);
      const auto a = x.data<float>();
      const auto w = static_cast<float>(column);
      CHECK(outputs["y"].data<float>()[static_cast<std::size_t>(i)] ==
            doctest::Approx(a[2 * row] * (w + 1) + a[2 * row + 1] * (w + 4)));
    }
  }
  CHECK_THROWS_WITH_AS(graph.run({{"x", filled({4, 2, 3})}}), doctest::Contains("If \"If"), Error);
}

TEST_CASE("imported: conditions on sizes that no answer fits are told as the first one was") {
  OnnxFile file;
  file.input("x", {"N", 2, "L"}).output("y").floats("w", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  squeeze_if_one(file, "x", 2, "rows");
  file.node("Gemm", {"rows", "w"}, {"y"});
  testing::check_error(file, ErrorKind::model, {"Gemm"});
}

TEST_CASE("imported: a text that stands alone refuses sizes that its branch is not for") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  OnnxFile file;
  file.input("x", {"N", 2, "L"}).output("y");
  squeeze_if_one(file, "x", 2, "less");
  file.node("Neg", {"less"}, {"y"});
  file.save(path);
  const onnx::Imported imported = onnx::import_model(path, "w", {.alone = true});
  CHECK(imported.unlike_ones.all().size() == 1);
  const Graph graph = Graph::from_text(imported.text);
  const Tensor x = filled({3, 2, 4});
  check_negated(graph.run({{"x", x}})["y"], x, {3, 2, 4});
  CHECK_THROWS_WITH_AS(graph.run({{"x", filled({3, 2, 1})}}),
                       doctest::Contains("must be another size"), Error);
}

TEST_CASE("imported: conditions on sizes are computed as others are") {
  OnnxFile file;
  file.input("x", {"A", "B", "C"}).output("flags").output("counts");
  for (const std::int64_t axis : {0, 1, 2}) size_of(file, "x", axis, "d" + std::to_string(axis));
  file.node("Less", {"d0", "d1"}, {"less"});
  file.node("GreaterOrEqual", {"d1", "d2"}, {"no_less"});
  file.node("Equal", {"d0", "d2"}, {"equal"});
  file.node("Not", {"equal"}, {"unlike"});
  file.node("And", {"less", "unlike"}, {"both"});
  file.node("Or", {"equal", "no_less"}, {"one"});
  file.node("Xor", {"less", "no_less"}, {"odd"});
  testing::set(file.node("Cast", {"d2"}, {"some"}), "to", onnx::TensorProto::BOOL);
  testing::set(
      file.node("Concat", {"less", "no_less", "equal", "unlike", "both", "one", "odd", "some"},
                {"flags"}),
      "axis", 0);
  testing::set(file.node("Cast", {"one"}, {"number"}), "to", onnx::TensorProto::INT64);
  file.node("Add", {"number", "d0"}, {"counts"});
  const Graph graph = load(file);
  for (std::int64_t a = 0; a < 4; ++a) {
    for (std::int64_t b = 0; b < 4; ++b) {
      for (std::int64_t c = 0; c < 4; ++c) {
        const Outputs outputs = graph.run({{"x", filled({a, b, c})}});
        const std::vector<bool> expected{
            a < b, b >= c, a == c, a != c, a < b && a != c, a == c || b >= c, (a < b) != (b >= c),
            c != 0};
        const auto* flags = static_cast<const std::uint8_t*>(outputs["flags"].raw());
        REQUIRE(outputs["flags"].shape() == Shape{8});
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK((flags[i] != 0) == expected[i]);
        CHECK(outputs["counts"].data<std::int64_t>()[0] == a + (a == c || b >= c ? 1 : 0));
      }
    }
  }
}

TEST_CASE("imported: branches that fit each other are one structure for all sizes") {
  OnnxFile file;
  file.input("x", {"N"}).output("y").integers("limit", {1}, {3});
  size_of(file, "x", 0, "n");
  file.node("Less", {"n", "limit"}, {"few"});
  onnx::NodeProto& node = file.node("If", {"few"}, {"chosen"});
  branch(node, "then_branch", "Neg", {"x"}, "less");
  branch(node, "else_branch", "Concat", {"x", "x"}, "twice");
  testing::set(*node.mutable_attribute(1)->mutable_g()->mutable_node(0), "axis", 0);
  file.node("Neg", {"chosen"}, {"y"});
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  CHECK(onnx::import_model(path, "w").unlike_ones.empty());
  const Graph graph = load(file);
  for (const std::int64_t n : {1, 2, 3, 7})
    CHECK(graph.run({{"x", filled({n})}})["y"].shape() == Shape{n < 3 ? n : 2 * n});
}

TEST_CASE("imported: a small input decides between branches that do not fit each other") {
  const OnnxFile file = unlike_branches([](OnnxFile& made) {
    made.input("rate", {}, onnx::TensorProto::INT64).integers("usual", {}, {16000});
    made.node("Equal", {"rate", "usual"}, {"c"});
  });
  const Graph graph = load(file);
  const Tensor x = filled({3, 2});
  for (const std::int64_t rate : {16000, 8000, 16000})
    check_negated(graph.run({{"x", x}, {"rate", Tensor::from({rate}, {})}})["y"], x,
                  rate == 16000 ? Shape{3, 2} : Shape{3, 2, 1});
}

TEST_CASE("imported: conditions on sizes in one branch do not bind the other") {
  OnnxFile file;
  file.input("x", {"N"}).input("pairs", {}, onnx::TensorProto::BOOL).output("y");
  file.integers("rows", {2}, {-1, 2}).integers("all", {1}, {1});
  onnx::NodeProto& node = file.node("If", {"pairs"}, {"y"});
  onnx::GraphProto& two = branch(node, "then_branch", "Reshape", {"x", "rows"}, "by_two");
  testing::set(testing::node(two, "ReduceSum", {"by_two", "all"}, {"sums"}), "keepdims", 0);
  two.mutable_output(0)->set_name("sums");
  branch(node, "else_branch", "Neg", {"x"}, "less");
  const Graph graph = load(file);
  const auto shape_at = [&](bool pairs, std::int64_t n) {
    return graph.run({{"x", filled({n})}, {"pairs", Tensor::from({pairs}, {})}})["y"].shape();
  };
  CHECK(shape_at(true, 6) == Shape{3});
  CHECK(shape_at(false, 5) == Shape{5});
  CHECK_THROWS_WITH_AS(shape_at(true, 5), doctest::Contains("multiple"), Error);
}

namespace {

void condition_on_data(OnnxFile& file) {
  file.floats("none", {}, {0});
  testing::set(file.node("ReduceMax", {"x"}, {"most"}), "keepdims", 0);
  file.node("Greater", {"most", "none"}, {"c"});
}

}  // namespace

TEST_CASE("imported: data cannot decide a rank, but a result that nobody reads may have any") {
  testing::check_error(unlike_branches(condition_on_data), ErrorKind::unsupported,
                       {"If", "f32[N, 2]", "f32[N, 2, 1]", "data decide"});
  OnnxFile unread = unlike_branches(condition_on_data);
  unread.model.mutable_graph()->mutable_node(3)->set_input(0, "x");
  const Tensor x = filled({4, 2});
  check_negated(load(unread).run({{"x", x}})["y"], x, {4, 2});
}

TEST_CASE("imported: branches that lack outputs are refused") {
  OnnxFile file = unlike_branches(condition_on_data);
  onnx::NodeProto& node = *file.model.mutable_graph()->mutable_node(2);
  node.mutable_attribute(0)->mutable_g()->clear_output();
  testing::check_error(file, ErrorKind::model, {"If", "0 and 1 outputs"});
  node.mutable_attribute(0)->mutable_g()->add_output()->set_name("nowhere");
  testing::check_error(file, ErrorKind::model, {"If", "nowhere"});
  node.mutable_attribute()->RemoveLast();
  testing::check_error(file, ErrorKind::model, {"If", "else_branch"});
}
