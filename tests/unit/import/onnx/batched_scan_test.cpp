// Scan before opset 9: samples along a first axis, each with a length of its own.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::batched_scan {
namespace {

using Floats = std::vector<float>;

/// state = state * left - right from step to step, of 2 elements each; kept = -state. `right` is
/// read from its end.
OnnxFile folding(bool has_lengths) {
  OnnxFile file(8);
  if (has_lengths) file.input("lengths", {"B"}, onnx::TensorProto::INT64);
  file.input("start", {"B", 2}).input("a", {"B", "L", 2}).input("b", {"B", "L", 2});
  file.output("last").output("all");
  onnx::NodeProto& node =
      file.node("Scan", {has_lengths ? "lengths" : "", "start", "a", "b"}, {"last", "all"});
  set(node, "num_scan_inputs", 2);
  set_list(node, "directions", {0, 1});
  onnx::GraphProto& body = graph_of(node, "body");
  name_inputs(body, {"state", "left", "right"});
  testing::node(body, "Mul", {"state", "left"}, {"product"});
  testing::node(body, "Sub", {"product", "right"}, {"next"});
  testing::node(body, "Neg", {"next"}, {"kept"});
  name_outputs(body, {"next", "kept"});
  return file;
}

struct Folded {
  Values last, all;
};

Folded fold(const Floats& start, const Floats& a, const Floats& b,
            const std::vector<std::int64_t>& lengths, std::size_t steps) {
  Folded folded{{start.begin(), start.end()}, Values(a.size())};
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    const auto length = static_cast<std::size_t>(lengths[sample]);
    for (std::size_t step = 0; step < length; ++step)
      for (std::size_t i = 0; i < 2; ++i) {
        const auto place = [&](std::size_t at) { return (sample * steps + at) * 2 + i; };
        double& state = folded.last[sample * 2 + i];
        state = state * static_cast<double>(a[place(step)]) -
                static_cast<double>(b[place(length - 1 - step)]);
        folded.all[place(step)] = -state;
      }
  }
  return folded;
}

void check_fold(const Graph& graph, std::int64_t steps, std::vector<std::int64_t> lengths,
                bool gives_lengths) {
  const auto samples = static_cast<std::int64_t>(lengths.size());
  CAPTURE(samples);
  CAPTURE(steps);
  const auto count = static_cast<std::size_t>(2 * samples);
  const Floats start = random_floats(count),
               a = random_floats(count * static_cast<std::size_t>(steps), -0.9F, 0.8F),
               b = random_floats(a.size());
  NamedTensors inputs{{"start", Tensor::view(start, {samples, 2})},
                      {"a", Tensor::view(a, {samples, steps, 2})},
                      {"b", Tensor::view(b, {samples, steps, 2})}};
  if (gives_lengths)
    inputs.emplace_back("lengths", Tensor::from(std::span<const std::int64_t>(lengths), {samples}));
  const std::vector<Result> y = run_all(graph, inputs);
  const Folded expected = fold(start, a, b, lengths, static_cast<std::size_t>(steps));
  CHECK(y[0].shape == Shape{samples, 2});
  check_close(y[0].values, expected.last, 1e-5);
  CHECK(y[1].shape == Shape{samples, steps, 2});
  check_close(y[1].values, expected.all, 1e-5);
}

}  // namespace

TEST_CASE("an early scan goes over samples, and over the places of each") {
  const Graph graph = load(folding(false));
  for (const auto& [samples, steps] : {std::pair{3, 5}, {1, 1}, {2, 40}, {1, 7}, {3, 0}, {40, 3}})
    check_fold(graph, steps, std::vector<std::int64_t>(static_cast<std::size_t>(samples), steps),
               false);
}

TEST_CASE("an early scan ends each sample at its length") {
  const Graph graph = load(folding(true));
  check_fold(graph, 5, {5, 2, 4}, true);
  check_fold(graph, 5, {3}, true);
  check_fold(graph, 30, {1, 30}, true);
  check_fold(graph, 4, {0, 4, 1}, true);
}

TEST_CASE("an early scan of known sizes is unrolled") {
  OnnxFile file = folding(false);
  for (onnx::ValueInfoProto& input : *file.model.mutable_graph()->mutable_input()) {
    auto& dims = *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    dims[0].set_dim_value(2);
    if (dims.size() == 3) dims[1].set_dim_value(3);
  }
  CHECK(statements_of(file).find("loop") == std::string::npos);
  check_fold(load(file), 3, {3, 3}, false);
}

TEST_CASE("early scans whose parts do not fit are refused") {
  const auto refused = [](const std::function<void(onnx::NodeProto&)>& edit, const char* part) {
    OnnxFile file = folding(false);
    edit(*file.model.mutable_graph()->mutable_node(0));
    check_error(file, ErrorKind::model, {"Scan", part});
  };
  const auto attribute = [](onnx::NodeProto& node, const std::string& name) {
    for (onnx::AttributeProto& each : *node.mutable_attribute())
      if (each.name() == name) return &each;
    throw std::runtime_error("there is no attribute " + name);
  };
  refused([&](onnx::NodeProto& node) { attribute(node, "num_scan_inputs")->set_i(4); },
          "num_scan_inputs is 4, of 4 inputs");
  refused([&](onnx::NodeProto& node) { attribute(node, "directions")->add_ints(1); },
          "directions has 3 elements, not 2");
  refused([](onnx::NodeProto& node) { node.mutable_input()->RemoveLast(); },
          "its body has 3 inputs and 2 outputs, for 0 states and 2 inputs");
}

}  // namespace dyn::testing::batched_scan
