#include "src/import/onnx/batched_scan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

constexpr int without_samples = 9;
/// Only a Scan of later opsets has it, and whatever is made here.
constexpr const char* axes_name = "scan_input_axes";

using Names = std::vector<std::string>;

/// No file has such names, so that the body's mean what they did.
std::string own_name(const std::string& what, std::size_t number = 0) {
  return fmt::format("(samples of Scan) {} {}", what, number);
}

void set_integers(NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
}

void set_integer(NodeProto& node, const char* name, std::int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

NodeProto& add_node(GraphProto& graph, const char* op, const Names& inputs, const Names& outputs) {
  NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(outputs.front());
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

void add_scalar(GraphProto& graph, const std::string& name, std::int64_t value) {
  TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_int64_data(value);
}

/// A Scan along first axes.
NodeProto& add_scan(GraphProto& graph, const Names& inputs, std::size_t scanned, GraphProto body,
                    const Names& outputs) {
  NodeProto& node = add_node(graph, "Scan", inputs, outputs);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(AttributeProto::GRAPH);
  *attribute.mutable_g() = std::move(body);
  set_integer(node, "num_scan_inputs", static_cast<std::int64_t>(scanned));
  set_integers(node, axes_name, std::vector<std::int64_t>(scanned, 0));
  return node;
}

Names numbered(const std::string& what, std::size_t count) {
  Names names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(own_name(what, i));
  return names;
}

class Samples {
 public:
  Samples(const NodeContext& node, const GraphProto& body) : node_(node), body_(body) {
    const std::int64_t scanned = node.integer("num_scan_inputs", 0);
    if (node.inputs() < 1 || scanned < 1 || scanned > static_cast<std::int64_t>(node.inputs()) - 1)
      node.fail(fmt::format("num_scan_inputs is {}, of {} inputs", scanned, node.inputs()));
    scanned_ = static_cast<std::size_t>(scanned);
    states_ = node.inputs() - 1 - scanned_;
    directions_ = node.integers("directions").value_or(std::vector<std::int64_t>(scanned_, 0));
    if (directions_.size() != scanned_)
      node.fail(fmt::format("directions has {} elements, not {}", directions_.size(), scanned_));
    if (results() < states_ || static_cast<std::size_t>(body.input_size()) != states_ + scanned_)
      node.fail(fmt::format("its body has {} inputs and {} outputs, for {} states and {} inputs",
                            body.input_size(), results(), states_, scanned_));
  }

  GraphProto graph() {
    GraphProto graph;
    graph.set_name(body_.name());
    Names inputs;
    if (has_lengths()) inputs.push_back(node_.node().input(0));
    for (std::size_t i = 0; i < states_; ++i) inputs.push_back(given(i));
    for (std::size_t i = 0; i < scanned_; ++i) {
      const bool turns = has_lengths() && directions_[i] != 0;
      inputs.push_back(turns ? turned(graph, i) : given(states_ + i));
    }
    const Names outputs = numbered("result", results());
    add_scan(graph, inputs, inputs.size(), sample(), outputs);
    for (const std::string& output : outputs) graph.add_output()->set_name(output);
    return graph;
  }

 private:
  bool has_lengths() const { return node_.has(0); }
  std::size_t results() const { return static_cast<std::size_t>(body_.output_size()); }
  const std::string& given(std::size_t i) const {
    return node_.node().input(static_cast<int>(i) + 1);
  }

  /// An input whose samples begin with their ends.
  std::string turned(GraphProto& graph, std::size_t input) const {
    std::string name = own_name("turned", input);
    NodeProto& node =
        add_node(graph, "ReverseSequence", {given(states_ + input), node_.node().input(0)}, {name});
    set_integer(node, "batch_axis", 0);
    set_integer(node, "time_axis", 1);
    return name;
  }

  /// One sample's.
  GraphProto sample() const {
    GraphProto graph;
    graph.set_name(body_.name());
    Names inputs = numbered("given", states_ + scanned_), outputs = numbered("made", results());
    if (has_lengths()) graph.add_input()->set_name(own_name("length"));
    for (const std::string& input : inputs) graph.add_input()->set_name(input);
    for (const std::string& output : outputs) graph.add_output()->set_name(output);
    if (!has_lengths()) {
      set_integers(add_scan(graph, inputs, scanned_, body_, outputs), "scan_input_directions",
                   directions_);
      return graph;
    }
    add_scalar(graph, own_name("begin"), 0);
    inputs.insert(inputs.begin(), own_name("begin"));
    outputs.insert(outputs.begin(), own_name("end"));
    add_scan(graph, inputs, scanned_, body_up_to_length(), outputs);
    return graph;
  }

  /// The body, which begins with the number of the step.
  GraphProto body_up_to_length() const {
    GraphProto body = body_;
    const std::string step = own_name("step"), next = own_name("next"), one = own_name("one"),
                      live = own_name("live"), zero = own_name("zero");
    body.clear_input();
    body.clear_output();
    body.add_input()->set_name(step);
    body.add_output()->set_name(next);
    body.mutable_input()->MergeFrom(body_.input());
    add_scalar(body, one, 1);
    add_scalar(body, zero, 0);
    add_node(body, "Add", {step, one}, {next});
    add_node(body, "Less", {step, own_name("length")}, {live});
    for (std::size_t i = 0; i < results(); ++i) {
      const std::string &made = body_.output(static_cast<int>(i)).name(),
                        kept = own_name("kept", i), nothing = own_name("nothing", i);
      if (i >= states_) add_node(body, "CastLike", {zero, made}, {nothing});
      const std::string& otherwise =
          i < states_ ? body_.input(static_cast<int>(i)).name() : nothing;
      add_node(body, "Where", {live, made, otherwise}, {kept});
      body.add_output()->set_name(kept);
    }
    return body;
  }

  const NodeContext& node_;
  const GraphProto& body_;
  std::size_t scanned_ = 0, states_ = 0;
  std::vector<std::int64_t> directions_;
};

}  // namespace

bool scans_samples(const NodeContext& node) {
  return node.opset() < without_samples && node.attribute(axes_name) == nullptr;
}

GraphProto graph_of_samples(const NodeContext& node, const GraphProto& body) {
  return Samples(node, body).graph();
}

}  // namespace dyn::onnx
