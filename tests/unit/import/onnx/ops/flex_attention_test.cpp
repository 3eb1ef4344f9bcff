// FlexAttention, whose graphs change scores and weights, beside plain loops in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "dyn/error.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::flex_attention {
namespace {

struct Sizes {
  std::int64_t batch, heads, key_heads, queries, keys, size, value_size;
};

/// What a case does to scores and weights: the graphs of the node, and the same for one element.
struct Modifiers {
  std::function<void(OnnxFile&, onnx::NodeProto&)> add = {};
  std::function<double(double score, std::int64_t query, std::int64_t key)> of_score = {},
                                                                            of_weight = {};
  double scale = 0;
};

OnnxFile flex(const Modifiers& modifiers, int data_type = onnx::TensorProto::FLOAT) {
  OnnxFile file;
  file.input("q", {"B", "H", "L", 6}, data_type).input("k", {"B", "G", "S", 6}, data_type);
  file.input("v", {"B", "G", "S", "V"}, data_type).output("y");
  onnx::OperatorSetIdProto& set = *file.model.add_opset_import();
  set.set_domain("ai.onnx.preview");
  set.set_version(1);
  onnx::NodeProto& node = file.node("FlexAttention", {"q", "k", "v"}, {"y"});
  node.set_domain("ai.onnx.preview");
  if (modifiers.scale != 0) set_number(node, "scale", static_cast<float>(modifiers.scale));
  if (modifiers.add) modifiers.add(file, node);
  return file;
}

double identity(double x, std::int64_t, std::int64_t) { return x; }

Values expected(const Sizes& s, const Modifiers& modifiers, const std::vector<float>& q,
                const std::vector<float>& k, const std::vector<float>& v) {
  const double scale =
      modifiers.scale != 0 ? modifiers.scale : 1 / std::sqrt(static_cast<double>(s.size));
  const auto score_of = modifiers.of_score ? modifiers.of_score : identity;
  const auto weight_of = modifiers.of_weight ? modifiers.of_weight : identity;
  Values y;
  for (std::int64_t row = 0; row < s.batch * s.heads * s.queries; ++row) {
    const std::int64_t query = row % s.queries, head = row / s.queries % s.heads,
                       batch = row / s.queries / s.heads,
                       group = batch * s.key_heads + head / (s.heads / s.key_heads);
    Values weights;
    double greatest = -INFINITY, sum = 0;
    for (std::int64_t key = 0; key < s.keys; ++key) {
      double score = 0;
      for (std::int64_t d = 0; d < s.size; ++d)
        score += at(q, row * s.size + d) * at(k, (group * s.keys + key) * s.size + d);
      weights.push_back(score_of(score * scale, query, key));
      greatest = std::max(greatest, weights.back());
    }
    for (double& weight : weights) sum += weight = std::exp(weight - greatest);
    for (std::int64_t d = 0; d < s.value_size; ++d) {
      double value = 0;
      for (std::int64_t key = 0; key < s.keys; ++key)
        value += weight_of(weights[static_cast<std::size_t>(key)] / sum, query, key) *
                 at(v, (group * s.keys + key) * s.value_size + d);
      y.push_back(value);
    }
  }
  return y;
}

void check_flex(const Modifiers& modifiers) {
  const Graph graph = load(flex(modifiers));
  for (const Sizes& s : {Sizes{2, 4, 2, 3, 5, 6, 4},
                         {1, 1, 1, 1, 1, 6, 1},
                         {1, 3, 1, 7, 7, 6, 6},
                         {3, 2, 2, 4, 9, 6, 5}}) {
    CAPTURE(s.heads);
    CAPTURE(s.keys);
    const auto floats = [](std::int64_t count) {
      return random_floats(static_cast<std::size_t>(count));
    };
    const std::vector<float> q = floats(s.batch * s.heads * s.queries * s.size),
                             k = floats(s.batch * s.key_heads * s.keys * s.size),
                             v = floats(s.batch * s.key_heads * s.keys * s.value_size);
    const std::vector<Result> y =
        run_all(graph, {{"q", Tensor::view(q, {s.batch, s.heads, s.queries, s.size})},
                        {"k", Tensor::view(k, {s.batch, s.key_heads, s.keys, s.size})},
                        {"v", Tensor::view(v, {s.batch, s.key_heads, s.keys, s.value_size})}});
    CHECK(y[0].shape == Shape{s.batch, s.heads, s.queries, s.value_size});
    check_close(y[0].values, expected(s, modifiers, q, k, v), 1e-5);
  }
}

/// score -> 2 * tanh(score / 2), whose constants are the graph's own.
void add_cap(OnnxFile&, onnx::NodeProto& node) {
  onnx::GraphProto& graph = graph_of(node, "score_mod");
  name_inputs(graph, {"scores"});
  onnx::TensorProto& cap = *graph.add_initializer();
  cap.set_name("cap");
  cap.set_data_type(onnx::TensorProto::FLOAT);
  cap.add_float_data(2);
  testing::node(graph, "Div", {"scores", "cap"}, {"less"});
  testing::node(graph, "Tanh", {"less"}, {"bent"});
  testing::node(graph, "Mul", {"bent", "cap"}, {"capped"});
  name_outputs(graph, {"capped"});
}

/// No key behind a query's place, by what the graph around the node has.
void add_causal(OnnxFile& file, onnx::NodeProto& node) {
  file.integers("zero", {}, {0}).integers("one", {}, {1}).floats("hidden", {}, {-INFINITY});
  file.integers("column", {2}, {-1, 1});
  onnx::GraphProto& graph = graph_of(node, "score_mod");
  name_inputs(graph, {"scores"});
  testing::node(graph, "Shape", {"scores"}, {"shape"});
  for (const auto& [name, axis] : {std::pair{"rows", 2}, {"columns", 3}}) {
    const std::string at = std::string(name) + "_axis";
    onnx::TensorProto& place = *graph.add_initializer();
    place.set_name(at);
    place.set_data_type(onnx::TensorProto::INT64);
    place.add_int64_data(axis);
    testing::node(graph, "Gather", {"shape", at}, {std::string(name) + "_size"});
    testing::node(graph, "Range", {"zero", std::string(name) + "_size", "one"}, {name});
  }
  testing::node(graph, "Reshape", {"rows", "column"}, {"queries"});
  testing::node(graph, "GreaterOrEqual", {"queries", "columns"}, {"seen"});
  testing::node(graph, "Where", {"seen", "scores", "hidden"}, {"masked"});
  name_outputs(graph, {"masked"});
}

void add_scaled_weights(OnnxFile& file, onnx::NodeProto& node) {
  file.floats("half", {}, {0.5F});
  onnx::GraphProto& graph = graph_of(node, "prob_mod");
  name_inputs(graph, {"weights"});
  testing::node(graph, "Mul", {"weights", "half"}, {"halves"});
  name_outputs(graph, {"halves"});
}

double capped(double score, std::int64_t, std::int64_t) { return 2 * std::tanh(score / 2); }
double causal(double score, std::int64_t query, std::int64_t key) {
  return key <= query ? score : -INFINITY;
}
double halved(double weight, std::int64_t, std::int64_t) { return weight / 2; }

}  // namespace

TEST_CASE("flexible attention: plain, and with a graph for scores or weights or both") {
  check_flex({});
  check_flex({.scale = 0.3});
  check_flex({.add = add_cap, .of_score = capped});
  check_flex({.add = add_causal, .of_score = causal, .scale = 0.5});
  check_flex({.add = add_scaled_weights, .of_weight = halved});
  check_flex({.add =
                  [](OnnxFile& file, onnx::NodeProto& node) {
                    add_cap(file, node);
                    add_scaled_weights(file, node);
                  },
              .of_score = capped,
              .of_weight = halved});
}

TEST_CASE("flexible attention: scores may have another precision") {
  const Modifiers in_double{.add = [](OnnxFile&, onnx::NodeProto& node) {
    set(node, "softmax_precision", onnx::TensorProto::DOUBLE);
  }};
  check_flex(in_double);
  CHECK(statements_of(flex(in_double)).find("dtype=f64") != std::string::npos);
  const std::string halves = statements_of(flex({}, onnx::TensorProto::FLOAT16));
  CHECK(halves.find("attention(") != std::string::npos);
  CHECK(halves.find("dtype=f16") != std::string::npos);
  const Modifiers of_integers{.add = [](OnnxFile&, onnx::NodeProto& node) {
    set(node, "softmax_precision", onnx::TensorProto::INT32);
  }};
  check_error(flex(of_integers), ErrorKind::model, {"FlexAttention", "softmax_precision is i32"});
}

TEST_CASE("flexible attention: graphs that do not fit are refused") {
  const auto refused = [](const std::function<void(OnnxFile&, onnx::GraphProto&)>& add,
                          const char* part) {
    const Modifiers modifiers{.add = [&](OnnxFile& file, onnx::NodeProto& node) {
      add(file, graph_of(node, "score_mod"));
    }};
    check_error(flex(modifiers), ErrorKind::model, {"FlexAttention", part});
  };
  refused(
      [](OnnxFile&, onnx::GraphProto& graph) {
        name_inputs(graph, {"scores", "more"});
        name_outputs(graph, {"scores"});
      },
      "the graph score_mod has 2 inputs and 1 outputs");
  refused(
      [](OnnxFile& file, onnx::GraphProto& graph) {
        file.integers("axes", {1}, {3});
        name_inputs(graph, {"scores"});
        testing::node(graph, "ReduceSum", {"scores", "axes"}, {"sums"});
        testing::node(graph, "Squeeze", {"sums", "axes"}, {"fewer"});
        name_outputs(graph, {"fewer"});
      },
      "the graph score_mod makes f32[B, H, L] of f32[B, H, L, S]");
  refused(
      [](OnnxFile&, onnx::GraphProto& graph) {
        name_inputs(graph, {"scores"});
        testing::node(graph, "Neg", {"scores"}, {"less"});
        name_outputs(graph, {"other"});
      },
      "the output \"other\"");
}

}  // namespace dyn::testing::flex_attention
