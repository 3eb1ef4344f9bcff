#include "tests/kernels/recurrence_layer.hpp"

#include <vector>

#include <fmt/format.h>

namespace dyn::testing {
namespace {

Activation random_activation(Random& random) {
  const std::vector<std::string> names{
      "sigmoid",     "tanh",         "relu", "affine",   "leaky_relu", "thresholded_relu",
      "scaled_tanh", "hard_sigmoid", "elu",  "softsign", "softplus"};
  return {random.pick(names), random.real(0.1, 0.8), random.real(0.1, 0.6)};
}

std::string attributes_of(const Layer& layer) {
  std::string text = fmt::format("direction={} clip={}", layer.direction, layer.clip);
  const auto add = [&](const char* name, const Activation& activation) {
    text += fmt::format(" {0}={1} {0}_alpha={2} {0}_beta={3}", name, activation.name,
                        activation.alpha, activation.beta);
  };
  add("f", layer.f);
  if (layer.kind != "rnn") add("g", layer.g);
  if (layer.kind == "lstm") {
    add("h", layer.h);
    text += fmt::format(" input_forget={}", layer.input_forget);
  }
  if (layer.kind == "gru") text += fmt::format(" linear_before_reset={}", layer.linear);
  return text;
}

/// Writes the graph line by line.
class LayerText {
 public:
  explicit LayerText(const Layer& layer)
      : layer_(layer),
        h_(layer.symbolic ? "H" : std::to_string(layer.hidden)),
        state_(fmt::format("[{}, B, {}]", layer.directions(), h_)),
        weights_(fmt::format("[{}, {}, {} * {}]", layer.directions(), h_, layer.gates(), h_)) {}

  std::string write() {
    const std::int64_t d = layer_.directions(), gates = layer_.gates();
    const bool lstm = layer_.kind == "lstm";
    parameters_ = "none: f32[1]";
    add_input("x", fmt::format("[S, B, {} * {}]", d * gates, h_), true);
    if (layer_.quantised)
      arguments_ += ", r: i8" + weights_;
    else if (layer_.constant)
      arguments_ += ", r";
    else
      add_input("r", weights_, true);
    add_input("bias", fmt::format("[{}, {} * {}]", d, gates, h_), layer_.has_bias);
    add_lengths();
    add_input("h0", state_, layer_.has_h);
    if (lstm) add_input("c0", state_, layer_.has_c);
    if (lstm) add_input("p", fmt::format("[{}, 3 * {}]", d, h_), layer_.has_peepholes);
    if (layer_.quantised) add_input("s", fmt::format("[{}, {} * {}]", d, gates, h_), true);
    body_ += fmt::format("  all, end{} = {}({}) {}\n", lstm ? ", memory" : "", layer_.kind,
                         arguments_.substr(2), attributes_of(layer_));
    if (layer_.side_by_side)
      body_ += fmt::format(
          "  turned = transpose(all) perm=[0, 2, 1, 3]\n  joined = reshape(turned) shape=[S, B, {} "
          "* {}]\n",
          d, h_);
    add_result("y", layer_.side_by_side ? "joined" : "all",
               layer_.side_by_side ? fmt::format("[S, B, {} * {}]", d, h_)
                                   : fmt::format("[S, {}, B, {}]", d, h_));
    add_result("last", "end", state_);
    if (lstm) add_result("cell", "memory", state_);
    if (layer_.constant) {
      body_ += "  wide = cast(r) dtype=f32\n  given = add(wide, none)\n";
      results_ += ", given: f32" + weights_, returned_ += ", given";
    }
    return fmt::format(
        "dyn 1\ndim B in 0..3000\ndim S in 0..1000\n{}{}graph g({}) -> ({}) {{\n{}  return "
        "{}\n}}\n",
        layer_.symbolic ? "dim H in 1..128\n" : "",
        layer_.constant && !layer_.quantised
            ? fmt::format("weight r: {}{} = random 7\n", layer_.dtype, weights_)
            : "",
        parameters_, results_.substr(2), body_, returned_.substr(2));
  }

 private:
  bool is_narrow() const { return layer_.dtype != "f32"; }

  void add_input(const std::string& name, const std::string& shape, bool has) {
    const std::string own = is_narrow() && has ? name + "_narrow" : name;
    arguments_ += ", " + own;
    if (!has) {
      body_ += is_narrow() ? fmt::format(
                                 "  {0}_zero = cast(0.0) dtype={1}\n  {0} = expand({0}_zero) "
                                 "shape={2}\n",
                                 name, layer_.dtype, shape)
                           : fmt::format("  {} = expand(0.0) shape={}\n", name, shape);
      return;
    }
    parameters_ += fmt::format(", {}: f32{}", name, shape);
    if (is_narrow()) body_ += fmt::format("  {} = cast({}) dtype={}\n", own, name, layer_.dtype);
  }

  void add_lengths() {
    arguments_ += ", lengths";
    if (layer_.has_lengths)
      parameters_ += ", lengths: i32[B]";
    else
      body_ +=
          "  steps = range() start=S end=(S + 1) dtype=i32\n  lengths = expand(steps) shape=[B]\n";
  }

  void add_result(const std::string& name, const std::string& value, const std::string& shape) {
    results_ += fmt::format(", {}: f32{}", name, shape);
    returned_ += ", " + (is_narrow() ? name : value);
    if (is_narrow()) body_ += fmt::format("  {} = cast({}) dtype=f32\n", name, value);
  }

  const Layer& layer_;
  const std::string h_, state_, weights_;
  std::string parameters_, arguments_, body_, results_, returned_;
};

}  // namespace

Layer random_layer(Random& random) {
  const std::vector<std::string> kinds{"lstm", "gru", "rnn"},
      directions{"forward", "reverse", "bidirectional"};
  const std::vector<std::int64_t> sizes{1, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, 48, 65, 100};
  Layer layer;
  layer.kind = random.pick(kinds);
  layer.direction = random.pick(directions);
  const bool usual = random.chance(0.6);
  if (layer.kind == "rnn") layer.f.name = "tanh";
  if (!usual) {
    for (Activation* each : {&layer.f, &layer.g, &layer.h}) *each = random_activation(random);
  }
  // Where gates exceed 1 nothing but a bound keeps states small.
  if (!usual || random.chance(0.4)) layer.clip = random.real(0.2, usual ? 1.5 : 0.7);
  layer.input_forget = random.chance(0.3);
  layer.linear = random.chance(0.5);
  for (bool* has : {&layer.has_bias, &layer.has_lengths, &layer.has_h, &layer.has_c,
                    &layer.has_peepholes, &layer.constant})
    *has = random.chance(0.6);
  layer.symbolic = !layer.constant && random.chance(0.5);
  layer.side_by_side = random.chance(0.4);
  layer.hidden = random.pick(sizes);
  return layer;
}

std::string text_of(const Layer& layer) { return LayerText(layer).write(); }

}  // namespace dyn::testing
