// Imported sequences and optional values, whose tensors the import knows one by one.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::TensorProto;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using Doubles = testing::Values;  // not dyn::Values

namespace {

/// a, b: [N, 2] and c: [1, 2] are inputs, p and q the integers 0 and -1.
OnnxFile three_tensors() {
  OnnxFile file;
  file.input("a", {"N", 2}).input("b", {"N", 2}).input("c", {1, 2}).output("y");
  file.integers("p", {}, {0}).integers("q", {}, {-1}).integers("far", {}, {3});
  return file;
}

void join(OnnxFile& file, const std::string& sequence, std::int64_t axis, bool is_new) {
  onnx::NodeProto& node = file.node("ConcatFromSequence", {sequence}, {"y"});
  testing::set(testing::set(node, "axis", axis), "new_axis", is_new ? 1 : 0);
}

struct Tensors {
  std::vector<float> a = random_floats(6), b = random_floats(6), c = random_floats(2);
  NamedTensors inputs() {
    return {{"a", Tensor::view(a, {3, 2})},
            {"b", Tensor::view(b, {3, 2})},
            {"c", Tensor::view(c, {1, 2})}};
  }
};

/// The body of a loop of as many steps as the input `steps`, a [1, 1], says: what it puts at the
/// end of the list `s`, which begins with `first`, is for each of its steps v and then -v, where v
/// is c * 2^step.
onnx::GraphProto& growing(OnnxFile& file, std::initializer_list<std::string> first) {
  file.input("steps", {1, 1}, TensorProto::INT64);
  testing::set(file.node("ReduceMax", {"steps"}, {"count"}), "keepdims", 0);
  if (first.size() > 0)
    file.node("SequenceConstruct", first, {"begin"});
  else
    file.node("SequenceEmpty", {}, {"begin"});
  onnx::NodeProto& node = file.node("Loop", {"count", "", "begin", "c"}, {"s", "last"});
  onnx::GraphProto& body = testing::graph_of(node, "body");
  testing::name_inputs(body, {"step", "go", "list", "v"});
  testing::node(body, "Neg", {"v"}, {"less"});
  testing::node(body, "Add", {"v", "v"}, {"twice"});
  testing::node(body, "SequenceInsert", {"list", "v"}, {"longer"});
  testing::node(body, "SequenceInsert", {"longer", "less"}, {"longest"});
  testing::name_outputs(body, {"go", "longest", "twice"});
  return body;
}

Doubles joined(std::initializer_list<const std::vector<float>*> parts) {
  Doubles all;
  for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

}  // namespace

TEST_CASE("imported sequences are put together, changed and joined") {
  Tensors t;
  struct Case {
    const char* what;
    std::function<void(OnnxFile&)> build;  ///< of the sequence `s`
    Doubles expected;
  };
  const Case cases[] = {
      {"in order", [](OnnxFile& f) { f.node("SequenceConstruct", {"a", "c", "b"}, {"s"}); },
       joined({&t.a, &t.c, &t.b})},
      {"at the end",
       [](OnnxFile& f) {
         f.node("SequenceEmpty", {}, {"e"});
         f.node("SequenceInsert", {"e", "a"}, {"e1"});
         f.node("SequenceInsert", {"e1", "c"}, {"s"});
       },
       joined({&t.a, &t.c})},
      {"at places",
       [](OnnxFile& f) {
         f.node("SequenceConstruct", {"a"}, {"e"});
         f.node("SequenceInsert", {"e", "b", "p"}, {"e1"});
         f.node("SequenceInsert", {"e1", "c", "q"}, {"s"});
       },
       joined({&t.b, &t.c, &t.a})},
      {"without the last",
       [](OnnxFile& f) {
         f.node("SequenceConstruct", {"a", "c", "b"}, {"e"});
         f.node("SequenceErase", {"e"}, {"s"});
       },
       joined({&t.a, &t.c})},
      {"without the first",
       [](OnnxFile& f) {
         f.node("SequenceConstruct", {"a", "c", "b"}, {"e"});
         f.node("SequenceErase", {"e", "p"}, {"e1"});
         f.node("Identity", {"e1"}, {"s"});
       },
       joined({&t.c, &t.b})},
  };
  for (const Case& each : cases) {
    CAPTURE(each.what);
    OnnxFile file = three_tensors();
    each.build(file);
    join(file, "s", 0, false);
    const Result y = testing::run_all(file, t.inputs())[0];
    CHECK(y.shape == Shape{static_cast<std::int64_t>(each.expected.size() / 2), 2});
    testing::check_close(y.values, each.expected);
  }
}

TEST_CASE("imported sequences: an element, the length, and a new axis") {
  Tensors t;
  OnnxFile file = three_tensors();
  file.output("last").output("length");
  file.node("SequenceConstruct", {"a", "b"}, {"s"});
  file.node("SequenceAt", {"s", "q"}, {"at"});
  file.node("Neg", {"at"}, {"last"});
  file.node("SequenceLength", {"s"}, {"count"});
  testing::set(file.node("Cast", {"count"}, {"length"}), "to", TensorProto::FLOAT);
  join(file, "s", -1, true);
  const auto results = testing::run_all(file, t.inputs());
  CHECK(results[0].shape == Shape{3, 2, 2});
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(results[0].values[2 * i] == static_cast<double>(t.a[i]));
    CHECK(results[0].values[2 * i + 1] == static_cast<double>(t.b[i]));
    CHECK(results[1].values[i] == -static_cast<double>(t.b[i]));
  }
  CHECK(results[2].values == Doubles{2});
}

TEST_CASE("imported tensors are split into sequences") {
  for (const auto& [split, keeps, shapes] :
       {std::tuple{std::vector<std::int64_t>{2}, true, std::vector<Shape>{{2, 3}, {2, 3}, {1, 3}}},
        {std::vector<std::int64_t>{1, 4}, true, std::vector<Shape>{{1, 3}, {4, 3}}},
        {std::vector<std::int64_t>{}, true, std::vector<Shape>(5, Shape{1, 3})},
        {std::vector<std::int64_t>{}, false, std::vector<Shape>(5, Shape{3})}}) {
    OnnxFile file;
    file.input("x", {5, 3}).integers("which", {}, {-1}).output("y").output("first");
    file.integers("none", {}, {0});
    if (!split.empty()) {
      const auto sizes = static_cast<std::int64_t>(split.size());
      file.integers("split",
                    sizes > 1 ? std::vector<std::int64_t>{sizes} : std::vector<std::int64_t>{},
                    split);
    }
    onnx::NodeProto& node =
        file.node("SplitToSequence", {"x", split.empty() ? "" : "split"}, {"s"});
    testing::set(testing::set(node, "axis", 0), "keepdims", keeps ? 1 : 0);
    file.node("SequenceAt", {"s", "which"}, {"y"});
    file.node("SequenceAt", {"s", "none"}, {"first"});
    std::vector<float> x = random_floats(15);
    const auto y = testing::run_all(file, {{"x", Tensor::view(x, {5, 3})}});
    CHECK(y[0].shape == shapes.back());
    CHECK(y[1].shape == shapes.front());
    for (std::size_t i = 0; i < y[0].values.size(); ++i)
      CHECK(y[0].values[i] == static_cast<double>(x[15 - y[0].values.size() + i]));
    for (std::size_t i = 0; i < y[1].values.size(); ++i)
      CHECK(y[1].values[i] == static_cast<double>(x[i]));
  }
}

TEST_CASE("imported SequenceMap: each tensor of sequences, beside one that is the same for all") {
  Tensors t;
  OnnxFile file = three_tensors();
  file.output("length");
  file.node("SequenceConstruct", {"a", "c"}, {"s"});
  file.node("SequenceConstruct", {"b", "c"}, {"r"});
  onnx::NodeProto& node = file.node("SequenceMap", {"s", "r", "c"}, {"sums", "shapes"});
  onnx::GraphProto& body = testing::graph_of(node, "body");
  testing::name_inputs(body, {"left", "right", "row"});
  testing::node(body, "Sub", {"left", "right"}, {"less"});
  testing::node(body, "Add", {"less", "row"}, {"sum"});
  testing::node(body, "Shape", {"left"}, {"shape"});
  testing::name_outputs(body, {"sum", "shape"});
  join(file, "sums", 0, false);
  testing::set(file.node("ConcatFromSequence", {"shapes"}, {"all"}), "axis", 0);
  testing::set(file.node("Cast", {"all"}, {"length"}), "to", TensorProto::FLOAT);
  const auto results = testing::run_all(file, t.inputs());
  Doubles expected;
  for (std::size_t i = 0; i < 6; ++i)
    expected.push_back(static_cast<double>(t.a[i]) - static_cast<double>(t.b[i]) +
                       static_cast<double>(t.c[i % 2]));
  for (const float each : t.c) expected.push_back(static_cast<double>(each));
  testing::check_close(results[0].values, expected);
  CHECK(results[1].values == Doubles{3, 2, 1, 2});
}

TEST_CASE("imported sequences go through loops of known length, and branches") {
  Tensors t;
  OnnxFile file = three_tensors();
  file.integers("steps", {}, {3}).input("more", {}, TensorProto::BOOL);
  file.node("SequenceConstruct", {"a"}, {"first"});
  onnx::NodeProto& node = file.node("Loop", {"steps", "", "first", "c"}, {"s", "row"});
  onnx::GraphProto& body = testing::graph_of(node, "body");
  testing::name_inputs(body, {"step", "go", "list", "v"});
  testing::node(body, "Add", {"v", "v"}, {"twice"});
  testing::node(body, "SequenceInsert", {"list", "twice", "step"}, {"longer"});
  testing::name_outputs(body, {"go", "longer", "twice"});
  onnx::NodeProto& choice = file.node("If", {"more"}, {"chosen"});
  onnx::GraphProto& yes = testing::graph_of(choice, "then_branch");
  testing::node(yes, "SequenceInsert", {"s", "b"}, {"with_b"});
  testing::name_outputs(yes, {"with_b"});
  onnx::GraphProto& no = testing::graph_of(choice, "else_branch");
  testing::node(no, "Identity", {"s"}, {"same"});
  testing::name_outputs(no, {"same"});
  join(file, "chosen", 0, false);
  const Graph graph = testing::load(file);
  for (const bool more : {true, false}) {
    NamedTensors inputs = t.inputs();
    inputs.emplace_back("more", Tensor::from({more}, {}));
    Doubles expected;
    for (const double factor : {2.0, 4.0, 8.0})
      for (const float each : t.c) expected.push_back(factor * static_cast<double>(each));
    for (const float each : t.a) expected.push_back(static_cast<double>(each));
    if (more)
      for (const float each : t.b) expected.push_back(static_cast<double>(each));
    testing::check_close(testing::run_all(graph, inputs)[0].values, expected);
  }
}

TEST_CASE("imported sequences grow in loops whose steps data decide") {
  Tensors t;
  for (const auto& [begins, behind] : {std::pair{false, false}, {true, false}, {true, true}}) {
    OnnxFile file = three_tensors();
    file.output("columns").output("final").output("first").output("length");
    growing(file, begins ? std::initializer_list<std::string>{"c"}
                         : std::initializer_list<std::string>{});
    if (behind)
      file.node("SequenceInsert", {"s", "c"}, {"all"});
    else
      file.node("Identity", {"s"}, {"all"});
    join(file, "all", 0, false);
    onnx::NodeProto& columns = file.node("ConcatFromSequence", {"all"}, {"columns"});
    testing::set(testing::set(columns, "axis", -1), "new_axis", 1);
    file.node("SequenceAt", {"all", "q"}, {"final"});
    file.node("SequenceAt", {"all", "p"}, {"first"});
    file.node("SequenceLength", {"all"}, {"count_all"});
    testing::set(file.node("Cast", {"count_all"}, {"length"}), "to", TensorProto::FLOAT);
    const Graph graph = testing::load(file);
    for (const std::int64_t steps : {1, 2, 5}) {
      NamedTensors inputs = t.inputs();
      inputs.emplace_back("steps", Tensor::from({steps}, {1, 1}));
      std::vector<Doubles> rows;
      const Doubles c(t.c.begin(), t.c.end());
      if (begins) rows.push_back(c);
      for (std::int64_t step = 0; step < steps; ++step)
        for (const double sign : {1.0, -1.0}) {
          const double factor = sign * static_cast<double>(std::int64_t{1} << step);
          rows.push_back({c[0] * factor, c[1] * factor});
        }
      if (behind) rows.push_back(c);
      const auto results = testing::run_all(graph, inputs);
      const auto count = static_cast<std::int64_t>(rows.size());
      CHECK(results[0].shape == Shape{count, 2});
      CHECK(results[1].shape == Shape{1, 2, count});
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t k = 0; k < 2; ++k) {
          CHECK(results[0].values[2 * i + k] == rows[i][k]);
          CHECK(results[1].values[k * rows.size() + i] == rows[i][k]);
        }
      CHECK(results[2].values == rows.back());
      CHECK(results[3].values == rows.front());
      CHECK(results[4].values == Doubles{static_cast<double>(count)});
    }
    NamedTensors none = t.inputs();
    none.emplace_back("steps", Tensor::from({std::int64_t{0}}, {1, 1}));
    if (begins)
      CHECK(testing::run_all(graph, none)[4].values == Doubles{behind ? 2.0 : 1.0});
    else
      CHECK_THROWS_WITH_AS(graph.run(none), doctest::Contains("SequenceAt"), Error);
  }
}

TEST_CASE("imported optional values are known to be there or not") {
  Tensors t;
  for (const bool there : {true, false}) {
    OnnxFile file = three_tensors();
    file.node("Optional", {there ? "a" : ""}, {"perhaps"});
    file.node("OptionalHasElement", {"perhaps"}, {"has"});
    onnx::NodeProto& choice = file.node("If", {"has"}, {"y"});
    onnx::GraphProto& yes = testing::graph_of(choice, "then_branch");
    testing::node(yes, "OptionalGetElement", {"perhaps"}, {"element"});
    testing::name_outputs(yes, {"element"});
    onnx::GraphProto& no = testing::graph_of(choice, "else_branch");
    testing::node(no, "Neg", {"b"}, {"less"});
    testing::name_outputs(no, {"less"});
    const auto y = testing::run_all(file, t.inputs())[0].values;
    for (std::size_t i = 0; i < 6; ++i)
      CHECK(y[i] == (there ? static_cast<double>(t.a[i]) : -static_cast<double>(t.b[i])));
  }
}

TEST_CASE("imported sequences that do not fit are refused, and named") {
  const auto refused = [](ErrorKind kind, const std::vector<std::string>& parts,
                          const std::function<void(OnnxFile&)>& build) {
    OnnxFile file = three_tensors();
    build(file);
    testing::check_error(file, kind, parts);
  };
  refused(ErrorKind::model, {"SequenceAt", "position 3 is outside", "2 places"}, [](OnnxFile& f) {
    f.node("SequenceConstruct", {"a", "b"}, {"s"});
    f.node("SequenceAt", {"s", "far"}, {"y"});
  });
  refused(ErrorKind::model, {"SequenceErase", "is empty"}, [](OnnxFile& f) {
    f.node("SequenceEmpty", {}, {"s"});
    f.node("SequenceErase", {"s"}, {"y"});
  });
  refused(ErrorKind::model, {"ConcatFromSequence", "is empty"}, [](OnnxFile& f) {
    f.node("SequenceEmpty", {}, {"s"});
    join(f, "s", 0, false);
  });
  refused(ErrorKind::model, {"Neg", "\"s\" is a sequence of tensors"}, [](OnnxFile& f) {
    f.node("SequenceConstruct", {"a", "b"}, {"s"});
    f.node("Neg", {"s"}, {"y"});
  });
  refused(ErrorKind::model, {"the output y", "a sequence of tensors"},
          [](OnnxFile& f) { f.node("SequenceConstruct", {"a", "b"}, {"y"}); });
  refused(ErrorKind::model, {"SequenceLength", "must be a sequence"},
          [](OnnxFile& f) { f.node("SequenceLength", {"a"}, {"y"}); });
  refused(ErrorKind::model, {"OptionalGetElement", "is none"}, [](OnnxFile& f) {
    f.node("Optional", {}, {"n"});
    f.node("OptionalGetElement", {"n"}, {"y"});
  });
  refused(ErrorKind::unsupported, {"SplitToSequence", "depends on N"},
          [](OnnxFile& f) { f.node("SplitToSequence", {"a"}, {"y"}); });
  refused(ErrorKind::model, {"SequenceMap", "2 and 1 tensors"}, [](OnnxFile& f) {
    f.node("SequenceConstruct", {"a", "b"}, {"s"});
    f.node("SequenceConstruct", {"c"}, {"r"});
    onnx::GraphProto& body = testing::graph_of(f.node("SequenceMap", {"s", "r"}, {"y"}), "body");
    testing::name_inputs(body, {"left", "right"});
    testing::node(body, "Add", {"left", "right"}, {"sum"});
    testing::name_outputs(body, {"sum"});
  });
  refused(ErrorKind::unsupported, {"Loop", "more than put tensors at its end"}, [](OnnxFile& f) {
    onnx::GraphProto& body = growing(f, {"c"});
    testing::node(body, "SequenceEmpty", {}, {"other"});
    body.mutable_output(1)->set_name("other");
    join(f, "s", 0, false);
  });
  refused(ErrorKind::unsupported, {"SequenceLength", "grows in a loop"}, [](OnnxFile& f) {
    onnx::GraphProto& body = growing(f, {"c"});
    testing::node(body, "SequenceLength", {"list"}, {"count"});
    body.add_output()->set_name("count");
    f.model.mutable_graph()->mutable_node(f.model.graph().node_size() - 1)->add_output("counts");
    join(f, "s", 0, false);
  });
}
