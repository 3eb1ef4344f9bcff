// Imported Loop and Scan that stay loops, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::TensorProto;
using testing::load;
using testing::OnnxFile;
using testing::random_floats;
using Doubles = testing::Values;  // not dyn::Values

namespace {

Tensor scalar(std::int64_t value) { return Tensor::from({value}, {}); }

Tensor row(const std::vector<float>& x) {
  return Tensor::view(x, {static_cast<std::int64_t>(x.size())});
}

bool has_loop(const OnnxFile& file) {
  return testing::statements_of(file).find(" = loop(") != std::string::npos;
}

/// v = v * 0.75 + x while the largest of v is below `most`, and for so many steps at most; each v
/// is kept.
OnnxFile fading(bool counts, bool checks) {
  OnnxFile file;
  file.input("x", {"N", 1}).input("most", {1, 1}).output("last").output("all");
  if (counts) file.input("steps", {}, TensorProto::INT64);
  file.floats("less", {}, {0.75F});
  onnx::NodeProto& node = file.node("Loop", {counts ? "steps" : "", "", "x"}, {"last", "all"});
  onnx::GraphProto& body = testing::graph_of(node, "body");
  testing::name_inputs(body, {"step", "condition", "v"});
  testing::node(body, "Mul", {"v", "less"}, {"faded"});
  testing::node(body, "Add", {"faded", "x"}, {"next"});
  testing::set(testing::node(body, "ReduceMax", {"next"}, {"peak"}), "keepdims", 1);
  testing::node(body, "Less", {"peak", "most"}, {"below"});
  testing::name_outputs(body, {checks ? "below" : "condition", "next", "next"});
  return file;
}

struct Faded {
  Doubles last, all;
  std::int64_t steps = 0;
};

Faded fade(const std::vector<float>& x, double most, std::int64_t steps) {
  Faded result;
  result.last.assign(x.begin(), x.end());
  for (bool goes_on = true; goes_on && result.steps < steps; ++result.steps) {
    for (std::size_t i = 0; i < x.size(); ++i)
      result.last[i] = result.last[i] * 0.75 + static_cast<double>(x[i]);
    result.all.insert(result.all.end(), result.last.begin(), result.last.end());
    goes_on = *std::ranges::max_element(result.last) < most;
  }
  return result;
}

}  // namespace

TEST_CASE("imported loops whose steps depend on data, on a condition, or on both") {
  for (const auto& [counts, checks] : {std::pair{true, true}, {true, false}, {false, true}}) {
    const Graph graph = load(fading(counts, checks));
    for (const auto& [n, most, steps] : {std::tuple{3, 3.0F, 50}, std::tuple{3, 1e6F, 9},
                                         std::tuple{1, 0.5F, 2}, std::tuple{7, 4.0F, 1}}) {
      if (!counts && most > 5) continue;  // it would not end
      std::vector<float> x = random_floats(static_cast<std::size_t>(n), 0.9F, 2);
      NamedTensors inputs{{"x", Tensor::view(x, {n, 1})}, {"most", Tensor::from({most}, {1, 1})}};
      if (counts) inputs.emplace_back("steps", scalar(steps));
      const Faded expected =
          fade(x, checks ? static_cast<double>(most) : 1e30, counts ? steps : 100'000);
      const auto y = testing::run_all(graph, inputs);
      testing::check_close(y[0].values, expected.last, 1e-5);
      CHECK(y[1].shape == Shape{expected.steps, n, 1});
      testing::check_close(y[1].values, expected.all, 1e-5);
    }
  }
}

TEST_CASE("imported loops that never end are errors of the run, which name the node") {
  Options options;
  options.max_loop_steps = 500;
  const Graph graph = load(fading(false, true), options);
  const std::vector<float> x(3, 1);
  CHECK_THROWS_WITH_AS(
      graph.run({{"x", Tensor::view(x, {3, 1})}, {"most", Tensor::from({1e6F}, {1, 1})}}),
      doctest::Contains("loop (Loop \"Loop1\"): it has not ended after 500 steps"), Error);
}

TEST_CASE("imported loops of many steps stay loops, of few they do not") {
  for (const auto& [steps, stays] : {std::pair{3, false}, {1000, true}, {100'000, true}}) {
    OnnxFile file = fading(true, false);
    file.model.mutable_graph()->mutable_input()->RemoveLast();
    file.integers("steps", {}, {steps});
    CHECK(has_loop(file) == stays);
    const std::vector<float> x = random_floats(2);
    const auto y = testing::run_all(
        file, {{"x", Tensor::view(x, {2, 1})}, {"most", Tensor::from({1.0F}, {1, 1})}});
    testing::check_close(y[0].values, fade(x, 1e30, steps).last, 1e-5);
    CHECK(y[1].shape == Shape{steps, 2, 1});
  }
}

TEST_CASE("imported scans go over open lengths, along any axis in either direction") {
  OnnxFile file;
  file.input("start", {"N"}).input("a", {"N", "L"}).input("b", {"M", "N"});
  file.output("last").output("all");
  onnx::NodeProto& node = file.node("Scan", {"start", "a", "b"}, {"last", "all"});
  testing::set(node, "num_scan_inputs", 2);
  testing::set_list(node, "scan_input_axes", {-1, 0});
  testing::set_list(node, "scan_input_directions", {0, 1});
  testing::set_list(node, "scan_output_axes", {1});
  testing::set_list(node, "scan_output_directions", {1});
  onnx::GraphProto& body = testing::graph_of(node, "body");
  testing::name_inputs(body, {"state", "left", "right"});
  testing::node(body, "Mul", {"state", "left"}, {"product"});
  testing::node(body, "Sub", {"product", "right"}, {"next"});
  testing::node(body, "Neg", {"next"}, {"kept"});
  testing::name_outputs(body, {"next", "kept"});
  CHECK(has_loop(file));
  const Graph graph = load(file);
  CHECK(graph.infer_shapes({{"start", {3}}, {"a", {3, 5}}, {"b", {5, 3}}})[1].second ==
        Shape{3, 5});
  for (const auto& [n, length] : {std::pair{3, 5}, {1, 1}, {2, 40}, {3, 0}, {1500, 3}}) {
    const auto rows = static_cast<std::size_t>(n), steps = static_cast<std::size_t>(length);
    std::vector<float> start = random_floats(rows), a = random_floats(rows * steps, -0.9F, 0.8F),
                       b = random_floats(rows * steps);
    const auto y = testing::run_all(graph, {{"start", Tensor::view(start, {n})},
                                            {"a", Tensor::view(a, {n, length})},
                                            {"b", Tensor::view(b, {length, n})}});
    Doubles state(start.begin(), start.end()), all(rows * steps);
    for (std::size_t step = 0; step < steps; ++step)
      for (std::size_t i = 0; i < rows; ++i) {
        state[i] = state[i] * static_cast<double>(a[i * steps + step]) -
                   static_cast<double>(b[(steps - 1 - step) * rows + i]);
        all[i * steps + (steps - 1 - step)] = -state[i];
      }
    testing::check_close(y[0].values, state, 1e-5);
    CHECK(y[1].shape == Shape{n, length});
    testing::check_close(y[1].values, all, 1e-5);
  }
  const std::vector<float> x(12, 1);
  CHECK_THROWS_WITH_AS(graph.run({{"start", Tensor::view(x.data(), {2})},
                                  {"a", Tensor::view(x.data(), {2, 3})},
                                  {"b", Tensor::view(x.data(), {4, 2})}}),
                       doctest::Contains("3 slices of one tensor, and 4 of another"), Error);
}

TEST_CASE("imported loops over a size, with sizes from outside in their bodies") {
  // Each step adds x[i], of P x 6 elements, as rows of 2 * P, to what grows by one row of 2 * P.
  OnnxFile file;
  file.input("x", {"L", "P", 6}).output("rows").output("sums");
  testing::set(testing::set(file.node("Shape", {"x"}, {"length"}), "start", 0), "end", 1);
  testing::set(testing::set(file.node("Shape", {"x"}, {"p"}), "start", 1), "end", 2);
  file.integers("two", {1}, {2}).integers("open", {1}, {-1}).integers("axis", {1}, {0});
  file.integers("zero", {1}, {0}).floats("nothing", {}, {0});
  file.node("Mul", {"p", "two"}, {"width"});
  testing::set(file.node("Concat", {"open", "width"}, {"shape"}), "axis", 0);
  testing::set(file.node("Concat", {"zero", "width"}, {"empty"}), "axis", 0);
  file.node("Expand", {"nothing", "empty"}, {"first"});
  onnx::NodeProto& node = file.node("Loop", {"length", "", "first"}, {"rows", "sums"});
  onnx::GraphProto& body = testing::graph_of(node, "body");
  testing::name_inputs(body, {"step", "condition", "v"});
  testing::set(testing::node(body, "Gather", {"x", "step"}, {"part"}), "axis", 0);
  testing::node(body, "Reshape", {"part", "shape"}, {"wide"});
  testing::set(testing::node(body, "ReduceSum", {"wide", "axis"}, {"sum"}), "keepdims", 1);
  testing::set(testing::node(body, "Concat", {"v", "sum"}, {"next"}), "axis", 0);
  testing::name_outputs(body, {"condition", "next", "sum"});
  const Graph graph = load(file);
  for (const auto& [length, p] : {std::pair{5, 3}, {1, 1}, {20, 4}}) {
    const auto width = static_cast<std::size_t>(2 * p);
    std::vector<float> x = random_floats(static_cast<std::size_t>(length * p * 6));
    const auto y = testing::run_all(graph, {{"x", Tensor::view(x, {length, p, 6})}});
    Doubles rows(static_cast<std::size_t>(length) * width);
    for (std::size_t i = 0; i < x.size(); ++i)
      rows[i / (3 * width) * width + i % width] += static_cast<double>(x[i]);
    CHECK(y[0].shape == Shape{length, 2 * p});
    testing::check_close(y[0].values, rows, 1e-5);
    CHECK(y[1].shape == Shape{length, 1, 2 * p});
    testing::check_close(y[1].values, rows, 1e-5);
  }
}

TEST_CASE("imported loops that count up to a size have a size of steps") {
  struct Case {
    const char *compare, *first;
    std::int64_t by, start;
    bool swaps, casts, begins;
    std::function<std::int64_t(std::int64_t)> steps;
  };
  const auto at_least = [](std::int64_t low, std::int64_t value) { return std::max(low, value); };
  const Case cases[] = {
      {"Less", "Less", 1, 0, false, true, false, [&](std::int64_t n) { return n; }},
      {"Less", "Less", 1, 0, false, false, false, [&](std::int64_t n) { return n; }},
      {"Greater", "Greater", 1, 0, true, false, false, [&](std::int64_t n) { return n; }},
      {"LessOrEqual", "LessOrEqual", 1, 1, false, true, false, [&](std::int64_t n) { return n; }},
      {"Less", "Less", 3, 2, false, true, false,
       [&](std::int64_t n) { return at_least(0, (n + 0) / 3); }},
      {"Less", "", 1, 0, false, false, true, [&](std::int64_t n) { return at_least(1, n); }},
      {"GreaterOrEqual", "", 2, 1, true, true, true,
       [&](std::int64_t n) { return at_least(1, (n + 1) / 2); }},
  };
  for (const Case& each : cases) {
    CAPTURE(each.compare);
    CAPTURE(each.by);
    OnnxFile file;
    file.input("x", {"N", 2}).output("last").output("all");
    file.integers("zero", {1}, {0}).integers("start", {}, {each.start});
    testing::set(testing::set(file.node("Shape", {"x"}, {"shape"}), "start", 0), "end", 1);
    file.node("Squeeze", {"shape", "zero"}, {"n"});
    const auto compare = [&](auto& graph, const std::string& counter, const std::string& result,
                             const char* op) {
      std::string left = counter, right = "n";
      if (each.casts) {
        for (std::string* side : {&left, &right}) {
          const std::string cast = result + *side;
          testing::set(testing::node(graph, "Cast", {*side}, {cast}), "to", TensorProto::FLOAT);
          *side = cast;
        }
      }
      if (each.swaps) std::swap(left, right);
      testing::node(graph, op, {left, right}, {result});
    };
    onnx::GraphProto& whole = *file.model.mutable_graph();
    if (!each.begins) compare(whole, "start", "begins", each.first);
    onnx::NodeProto& node =
        file.node("Loop", {"", each.begins ? "" : "begins", "start", "first"}, {"", "last", "all"});
    onnx::GraphProto& body = testing::graph_of(node, "body");
    testing::name_inputs(body, {"step", "condition", "counter", "v"});
    onnx::TensorProto& by = *body.add_initializer();
    by.set_name("by");
    by.set_data_type(TensorProto::INT64);
    by.add_int64_data(each.by);
    testing::node(body, "Add", {"counter", "by"}, {"next"});
    testing::node(body, "Add", {"v", "v"}, {"w"});
    compare(body, "next", "goes_on", each.compare);
    testing::name_outputs(body, {"goes_on", "next", "w", "w"});
    file.floats("first", {2}, {1, -0.5F});
    const std::string text = testing::statements_of(file);
    CHECK(text.find("conditional") == std::string::npos);
    CHECK(text.find("steps=steps") == std::string::npos);
    const Graph graph = load(file);
    for (const std::int64_t n : {0, 1, 2, 3, 4, 8, 12}) {
      CAPTURE(n);
      const std::vector<float> x(static_cast<std::size_t>(2 * n), 1);
      const auto y = testing::run_all(graph, {{"x", Tensor::view(x, {n, 2})}});
      CHECK(y[1].shape == Shape{each.steps(n), 2});
      CHECK(y[0].values[1] == -0.5 * std::pow(2.0, static_cast<double>(each.steps(n))));
    }
  }
}

TEST_CASE("a weight that a loop and the graph around it read is one weight") {
  constexpr std::int64_t n = 300;
  OnnxFile file;
  std::vector<float> w = random_floats(n * n, -0.06F, 0.07F);
  file.input("x", {"N", n}).input("steps", {}, TensorProto::INT64).output("y");
  file.floats("w", {n, n}, w);
  file.node("MatMul", {"x", "w"}, {"first"});
  onnx::GraphProto& body =
      testing::graph_of(file.node("Loop", {"steps", "", "first"}, {"last"}), "body");
  testing::name_inputs(body, {"step", "condition", "v"});
  testing::node(body, "MatMul", {"v", "w"}, {"next"});
  testing::name_outputs(body, {"condition", "next"});
  file.node("MatMul", {"last", "w"}, {"y"});
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  CHECK(onnx::import_model(path, "w").weights.size() < 2 * n * n * sizeof(float));
  std::vector<float> x = random_floats(2 * n);
  const auto y = testing::run_all(file, {{"x", Tensor::view(x, {2, n})}, {"steps", scalar(2)}});
  Doubles now(x.begin(), x.end());
  for (int product = 0; product < 4; ++product) {
    Doubles next(2 * n);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j)
          next[i * n + j] += now[i * n + k] * static_cast<double>(w[k * n + j]);
    now = next;
  }
  testing::check_close(y[0].values, now, 1e-4);
}

TEST_CASE("imported loops in loops, over values from all around them") {
  OnnxFile file;
  file.input("x", {"N"}).input("steps", {}, TensorProto::INT64).output("last").output("all");
  file.floats("half", {}, {0.5F});
  onnx::NodeProto& node = file.node("Loop", {"steps", "", "x"}, {"last", "all"});
  onnx::GraphProto& outer = testing::graph_of(node, "body");
  testing::name_inputs(outer, {"i", "c", "v"});
  testing::node(outer, "Neg", {"v"}, {"less"});
  onnx::GraphProto& inner =
      testing::graph_of(testing::node(outer, "Loop", {"i", "", "v"}, {"w"}), "body");
  testing::name_inputs(inner, {"j", "d", "u"});
  testing::node(inner, "Mul", {"u", "half"}, {"less_u"});
  testing::node(inner, "Add", {"less_u", "x"}, {"more"});
  testing::node(inner, "Sub", {"more", "less"}, {"next_u"});
  testing::name_outputs(inner, {"d", "next_u"});
  testing::node(outer, "Identity", {"w"}, {"kept"});
  testing::name_outputs(outer, {"c", "w", "kept"});
  const Graph graph = load(file);
  for (const std::int64_t steps : {0, 1, 5}) {
    std::vector<float> x = random_floats(3);
    const auto y = testing::run_all(graph, {{"x", row(x)}, {"steps", scalar(steps)}});
    Doubles v(x.begin(), x.end()), all;
    for (std::int64_t i = 0; i < steps; ++i)
      for (std::size_t k = 0; k < 3; ++k) {
        const double less = -v[k];
        for (std::int64_t j = 0; j < i; ++j) v[k] = v[k] * 0.5 + static_cast<double>(x[k]) - less;
        all.push_back(v[k]);
      }
    testing::check_close(y[0].values, v, 1e-4);
    testing::check_close(y[1].values, all, 1e-4);
  }
}

TEST_CASE("imported: a small input decides the structure of a loop's body") {
  OnnxFile file;
  file.input("x", {"N", 3}).input("axes", {1}, TensorProto::INT64);
  file.input("steps", {}, TensorProto::INT64).output("y");
  onnx::GraphProto& body = testing::graph_of(file.node("Loop", {"steps", "", "x"}, {"y"}), "body");
  testing::name_inputs(body, {"step", "condition", "v"});
  testing::set(testing::node(body, "ReduceSum", {"v", "axes"}, {"sum"}), "keepdims", 1);
  testing::node(body, "Sub", {"v", "sum"}, {"next"});
  testing::name_outputs(body, {"condition", "next"});
  const Graph graph = load(file);
  std::vector<float> x = random_floats(6);
  for (const std::int64_t axis : {0, 1}) {
    const std::vector<std::int64_t> axes{axis};
    const auto y = testing::run_all(
        graph,
        {{"x", Tensor::view(x, {2, 3})}, {"axes", Tensor::view(axes, {1})}, {"steps", scalar(1)}});
    Doubles expected(6);
    for (std::size_t i = 0; i < 6; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < 6; ++k)
        if (axis == 0 ? k % 3 == i % 3 : k / 3 == i / 3) sum += static_cast<double>(x[k]);
      expected[i] = static_cast<double>(x[i]) - sum;
    }
    testing::check_close(y[0].values, expected, 1e-5);
  }
}

TEST_CASE("imported loops whose bodies need to know their step are unrolled") {
  OnnxFile file;
  file.input("x", {"N", 3}).output("y").integers("steps", {}, {300});
  onnx::GraphProto& body = testing::graph_of(file.node("Loop", {"steps", "", "x"}, {"y"}), "body");
  testing::name_inputs(body, {"step", "condition", "v"});
  onnx::TensorProto& two = *body.add_initializer();
  two.set_name("two");
  two.set_data_type(TensorProto::INT64);
  two.add_dims(1);
  two.add_int64_data(2);
  testing::node(body, "Mod", {"step", "two"}, {"axis"});
  testing::set(testing::node(body, "ReduceMax", {"v", "axis"}, {"peak"}), "keepdims", 1);
  testing::node(body, "Sub", {"v", "peak"}, {"next"});
  testing::name_outputs(body, {"condition", "next"});
  CHECK(!has_loop(file));
}

TEST_CASE("imported loops that do not fit their bodies are refused, and named") {
  const auto with_body = [](const std::function<void(onnx::NodeProto&, onnx::GraphProto&)>& edit) {
    OnnxFile file = fading(true, true);
    onnx::NodeProto& node = *file.model.mutable_graph()->mutable_node(0);
    edit(node, *node.mutable_attribute(0)->mutable_g());
    return file;
  };
  testing::check_error(with_body([](onnx::NodeProto&, onnx::GraphProto& body) {
                         body.mutable_input()->RemoveLast();
                       }),
                       ErrorKind::model, {"Loop \"Loop1\"", "2 inputs, and gets 3"});
  testing::check_error(
      with_body([](onnx::NodeProto&, onnx::GraphProto& body) { body.clear_output(); }),
      ErrorKind::model, {"Loop \"Loop1\"", "0 outputs for 1 values"});
  testing::check_error(with_body([](onnx::NodeProto&, onnx::GraphProto& body) {
                         body.mutable_output(1)->set_name("nowhere");
                       }),
                       ErrorKind::model, {"Loop \"Loop1\"", "nowhere"});
  testing::check_error(
      with_body([](onnx::NodeProto&, onnx::GraphProto& body) {
        testing::set(testing::node(body, "Cast", {"next"}, {"whole"}), "to", TensorProto::INT32);
        body.mutable_output(1)->set_name("whole");
      }),
      ErrorKind::model, {"Loop \"Loop1\"", "f32[N, 1] before a step", "i32[N, 1] after it"});
  testing::check_error(with_body([](onnx::NodeProto&, onnx::GraphProto& body) {
                         testing::set(testing::node(body, "Flatten", {"next"}, {"flat"}), "axis",
                                      0);
                         testing::node(body, "Shape", {"flat"}, {"shape"});
                         testing::node(body, "Reshape", {"next", "flat_shape"}, {"one"});
                         body.mutable_output(1)->set_name("one");
                       }),
                       ErrorKind::model, {"Reshape", "flat_shape"});
  testing::check_error(
      with_body([](onnx::NodeProto& node, onnx::GraphProto&) { node.clear_attribute(); }),
      ErrorKind::model, {"Loop \"Loop1\"", "the graph body"});
}

TEST_SUITE("full") {  // a million nodes are converted
  TEST_CASE("loops in loops whose values grow are converted a bounded number of times") {
    // Each is converted anew as often as those around it, and twice itself.
    OnnxFile file;
    file.input("x", {"N"}).input("most", {1, 1}, TensorProto::INT64).output("y");
    testing::set(file.node("ReduceMax", {"most"}, {"steps"}), "keepdims", 0);
    constexpr int depth = 24;
    onnx::NodeProto* node = &file.node("Loop", {"steps", "", "x"}, {"y"});
    for (int level = 0; level < depth; ++level) {
      onnx::GraphProto& body = testing::graph_of(*node, "body");
      const std::string number = std::to_string(level);
      testing::name_inputs(body, {"s" + number, "c" + number, "v" + number});
      for (int i = 0; i < 40; ++i)
        testing::node(body, "Neg", {"v" + number}, {"n" + number + "_" + std::to_string(i)});
      testing::set(testing::node(body, "Concat", {"v" + number, "x"}, {"w" + number}), "axis", 0);
      testing::name_outputs(body, {"c" + number, level + 1 < depth ? "r" + number : "w" + number});
      if (level + 1 < depth)
        node = &testing::node(body, "Loop", {"steps", "", "w" + number}, {"r" + number});
    }
    testing::check_error(file, ErrorKind::unsupported, {"Loop", "loops in loops", "1000000 nodes"});
  }
}
