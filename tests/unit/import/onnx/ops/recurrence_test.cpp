// Imported LSTM, GRU and RNN beside plain loops in double precision, in both directions, with
// lengths and both layouts.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;
using testing::random_floats;
using testing::sigmoid;
using testing::Values;

namespace {

constexpr std::size_t inputs = 3, hidden = 4;

struct Layer {
  std::string op;
  std::size_t gates, directions;
  bool backwards = false, linear = false;
  std::vector<float> w, r, b, p;

  Layer(std::string name, std::size_t count, std::size_t ways)
      : op(std::move(name)), gates(count), directions(ways) {
    w = random_floats(ways * count * hidden * inputs, -0.8F, 0.9F);
    r = random_floats(ways * count * hidden * hidden, -0.8F, 0.9F);
    b = random_floats(ways * 2 * count * hidden, -0.5F, 0.6F);
    p = random_floats(ways * 3 * hidden, -0.5F, 0.6F);
  }

  double product(const std::vector<float>& weights, std::size_t d, std::size_t row,
                 const Values& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(weights[(d * gates * hidden + row) * x.size() + i]) * x[i];
    return sum;
  }
  double bias(std::size_t d, std::size_t half, std::size_t row) const {
    return static_cast<double>(b[(d * 2 + half) * gates * hidden + row]);
  }
  double gate(std::size_t d, std::size_t row, const Values& x, const Values& h) const {
    return product(w, d, row, x) + bias(d, 0, row) + product(r, d, row, h) + bias(d, 1, row);
  }

  void step(std::size_t d, const Values& x, Values& h, Values& c) const {
    const Values before = h;
    Values seen = before;
    const auto z = [&](std::size_t i) { return sigmoid(gate(d, i, x, before)); };
    const auto reset = [&](std::size_t i) { return sigmoid(gate(d, hidden + i, x, before)); };
    for (std::size_t i = 0; op == "GRU" && i < hidden; ++i) seen[i] = reset(i) * before[i];
    for (std::size_t i = 0; i < hidden; ++i) {
      if (op == "RNN") h[i] = std::tanh(gate(d, i, x, before));
      if (op == "GRU") {
        const std::size_t row = 2 * hidden + i;
        const double inner = linear ? reset(i) * (product(r, d, row, before) + bias(d, 1, row))
                                    : product(r, d, row, seen) + bias(d, 1, row);
        h[i] = (1 - z(i)) * std::tanh(product(w, d, row, x) + bias(d, 0, row) + inner) +
               z(i) * before[i];
      }
      if (op == "LSTM") {
        const auto peep = [&](std::size_t k) {
          return static_cast<double>(p[(d * 3 + k) * hidden + i]) * c[i];
        };
        const double in = sigmoid(gate(d, i, x, before) + peep(0)),
                     forget = sigmoid(gate(d, 2 * hidden + i, x, before) + peep(2));
        c[i] = forget * c[i] + in * std::tanh(gate(d, 3 * hidden + i, x, before));
        h[i] = sigmoid(gate(d, hidden + i, x, before) + peep(1)) * std::tanh(c[i]);
      }
    }
  }
};

void check(const Layer& layer, const std::string& direction, bool batch_first, std::size_t steps,
           std::size_t batch) {
  CAPTURE(layer.op);
  CAPTURE(direction);
  CAPTURE(batch_first);
  OnnxFile file;
  const bool lstm = layer.op == "LSTM";
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  if (batch_first)
    file.input("x", {"B", "S", 3});
  else
    file.input("x", {"S", "B", 3});
  file.input("lengths", {"B"}, onnx::TensorProto::INT32).output("y");
  file.floats("w", {count(layer.directions), count(layer.gates * hidden), inputs}, layer.w)
      .floats("r", {count(layer.directions), count(layer.gates * hidden), hidden}, layer.r);
  file.floats("b", {count(layer.directions), count(2 * layer.gates * hidden)}, layer.b)
      .floats("p", {count(layer.directions), 3 * hidden}, layer.p);
  onnx::NodeProto& node =
      lstm
          ? file.node(layer.op, {"x", "w", "r", "b", "lengths", "", "", "p"}, {"y", "last", "cell"})
          : file.node(layer.op, {"x", "w", "r", "b", "lengths"}, {"y", "last"});
  file.model.mutable_graph()->add_output()->set_name("last");
  if (lstm) file.model.mutable_graph()->add_output()->set_name("cell");
  testing::set(node, "hidden_size", hidden);
  testing::set(node, "layout", batch_first);
  if (layer.op == "GRU") testing::set(node, "linear_before_reset", layer.linear);
  onnx::AttributeProto& word = *node.add_attribute();
  word.set_name("direction");
  word.set_type(onnx::AttributeProto::STRING);
  word.set_s(direction);

  const std::vector<float> x = random_floats(steps * batch * inputs);
  std::vector<std::int32_t> lengths;
  for (std::size_t i = 0; i < batch; ++i)
    lengths.push_back(static_cast<std::int32_t>(i == 1 ? steps / 2 : steps));
  const testing::TemporaryFolder folder;
  file.save((folder.path() / "m.onnx").string());
  const Shape shape = batch_first ? Shape{count(batch), count(steps), inputs}
                                  : Shape{count(steps), count(batch), inputs};
  Values y(steps * layer.directions * batch * hidden), last(layer.directions * batch * hidden),
      cell(last.size());
  for (std::size_t d = 0; d < layer.directions; ++d) {
    const bool reverse = direction == "reverse" || d == 1;
    for (std::size_t row = 0; row < batch; ++row) {
      Values h(hidden), c(hidden);
      const auto length = static_cast<std::size_t>(lengths[row]);
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t t = reverse ? length - 1 - i : i;
        Values in;
        for (std::size_t k = 0; k < inputs; ++k)
          in.push_back(static_cast<double>(
              x[(batch_first ? row * steps + t : t * batch + row) * inputs + k]));
        layer.step(d, in, h, c);
        const std::size_t place = batch_first ? (row * steps + t) * layer.directions + d
                                              : (t * layer.directions + d) * batch + row;
        std::ranges::copy(h, y.begin() + static_cast<std::ptrdiff_t>(place * hidden));
      }
      const std::size_t place = batch_first ? row * layer.directions + d : d * batch + row;
      std::ranges::copy(h, last.begin() + static_cast<std::ptrdiff_t>(place * hidden));
      std::ranges::copy(c, cell.begin() + static_cast<std::ptrdiff_t>(place * hidden));
    }
  }
  for (const char* device : {"cpu", "emulator"}) {
    CAPTURE(device);
    Options options;
    options.device = device;
    const Outputs outputs = Graph::load((folder.path() / "m.onnx").string(), options)
                                .run({{"x", Tensor::view(x, shape)},
                                      {"lengths", Tensor::view(lengths, {count(batch)})}});
    const auto values = [&](const char* name) {
      return Values(outputs[name].data<float>().begin(), outputs[name].data<float>().end());
    };
    testing::check_close(values("y"), y, 1e-5);
    testing::check_close(values("last"), last, 1e-5);
    if (lstm) testing::check_close(values("cell"), cell, 1e-5);
  }
}

}  // namespace

TEST_CASE("imported recurrent layers") {
  for (const bool batch_first : {false, true}) {
    check(Layer("RNN", 1, 1), "forward", batch_first, 5, 3);
    check(Layer("RNN", 1, 2), "bidirectional", batch_first, 4, 2);
    check(Layer("LSTM", 4, 1), "reverse", batch_first, 5, 2);
    check(Layer("LSTM", 4, 2), "bidirectional", batch_first, 6, 3);
    Layer gru("GRU", 3, 2);
    check(gru, "bidirectional", batch_first, 5, 2);
    gru.linear = true;
    check(gru, "bidirectional", batch_first, 5, 2);
  }
}

namespace {

/// An LSTM of hidden size 4 over "x" and "lengths".
OnnxFile lstm_file(std::int64_t hidden_size) {
  OnnxFile file;
  file.input("x", {"S", "B", 3}).input("lengths", {"B"}, onnx::TensorProto::INT32).output("y");
  file.floats("w", {1, 16, 3}, random_floats(48)).floats("r", {1, 16, 4}, random_floats(64));
  testing::set(file.node("LSTM", {"x", "w", "r", "", "lengths"}, {"y"}), "hidden_size",
               hidden_size);
  return file;
}

}  // namespace

TEST_CASE("a hidden_size that contradicts the weights is refused") {
  testing::check_error(lstm_file(5), ErrorKind::model,
                       {"hidden_size is 5", "recurrence weights are for 4"});
}

TEST_CASE("lengths of sequences beyond the steps, or below 0, are refused") {
  const Graph graph = testing::load(lstm_file(4));
  const std::vector<float> x = random_floats(2 * 2 * 3);
  const auto run = [&](std::vector<std::int32_t> lengths) {
    return graph.run({{"x", Tensor::view(x, {2, 2, 3})}, {"lengths", Tensor::view(lengths, {2})}});
  };
  CHECK_NOTHROW(run({2, 0}));
  for (const std::int32_t bad : {3, -1}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(run({1, bad}), doctest::Contains("out of range"), Error);
  }
}

namespace {

using Function = double (*)(double);

/// An RNN of one column whose weights are 1 and whose state counts half, in both directions.
OnnxFile two_ways(const std::vector<std::string>& activations, const std::vector<float>& alphas,
                  const std::vector<float>& betas) {
  OnnxFile file;
  file.input("x", {"S", "B", 1}).output("y");
  file.model.mutable_graph()->add_output()->set_name("last");
  file.floats("w", {2, 1, 1}, {1, 1}).floats("r", {2, 1, 1}, {0.5F, 0.5F});
  onnx::NodeProto& node = file.node("RNN", {"x", "w", "r"}, {"y", "last"});
  testing::set(node, "hidden_size", 1);
  onnx::AttributeProto& direction = *node.add_attribute();
  direction.set_name("direction");
  direction.set_type(onnx::AttributeProto::STRING);
  direction.set_s("bidirectional");
  onnx::AttributeProto& names = *node.add_attribute();
  names.set_name("activations");
  names.set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& name : activations) names.add_strings(name);
  const auto add = [&](const char* name, const std::vector<float>& numbers) {
    if (numbers.empty()) return;
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float number : numbers) attribute.add_floats(number);
  };
  add("activation_alpha", alphas);
  add("activation_beta", betas);
  return file;
}

void check_two_ways(const OnnxFile& file, Function forward, Function backward) {
  const Graph graph = testing::load(file);
  constexpr std::size_t steps = 6, batch = 3;
  const std::vector<float> x = random_floats(steps * batch, -2, 3);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {steps, batch, 1})}});
  Values y(steps * 2 * batch), last(2 * batch);
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t b = 0; b < batch; ++b) {
      double h = 0;
      for (std::size_t i = 0; i < steps; ++i) {
        const std::size_t t = d == 0 ? i : steps - 1 - i;
        h = (d == 0 ? forward : backward)(static_cast<double>(x[t * batch + b]) + 0.5 * h);
        y[(t * 2 + d) * batch + b] = h;
      }
      last[d * batch + b] = h;
    }
  }
  const auto values = [&](const char* name) {
    return Values(outputs[name].data<float>().begin(), outputs[name].data<float>().end());
  };
  testing::check_close(values("y"), y, 1e-5);
  testing::check_close(values("last"), last, 1e-5);
}

}  // namespace

TEST_CASE("directions of a recurrent layer have activations of their own") {
  check_two_ways(
      two_ways({"HardSigmoid", "Elu"}, {0.3F, 0.7F}, {0.4F}),
      [](double x) { return std::max(0.0, std::min(1.0, 0.3 * x + 0.4)); },
      [](double x) { return x < 0 ? 0.7 * (std::exp(x) - 1) : x; });
  check_two_ways(
      two_ways({"LeakyRelu", "HardSigmoid"}, {}, {}), [](double x) { return x < 0 ? 0.01 * x : x; },
      [](double x) { return std::max(0.0, std::min(1.0, 0.2 * x + 0.5)); });
  check_two_ways(
      two_ways({"Softplus", "Softplus"}, {}, {}), [](double x) { return std::log1p(std::exp(x)); },
      [](double x) { return std::log1p(std::exp(x)); });
}

TEST_CASE("activations of a recurrent layer that say too little are refused") {
  testing::check_error(two_ways({"Affine", "Affine"}, {0.5F}, {}), ErrorKind::model,
                       {"its activation Affine needs a number in activation_beta"});
  testing::check_error(two_ways({"Tanh", "Tanh", "Tanh"}, {}, {}), ErrorKind::model,
                       {"it has 3 activations, not 1 for each direction"});
  testing::check_error(two_ways({"Sine", "Sine"}, {}, {}), ErrorKind::unsupported,
                       {"the activation Sine is not supported"});
}
