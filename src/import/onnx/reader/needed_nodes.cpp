#include "src/import/onnx/reader/needed_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace dyn::onnx {
namespace {

/// Names that a node reads, those that graphs within it read or give on included. Names of their
/// own may be among them, which does no harm.
void add_reads(const NodeProto& node, std::vector<std::string_view>& reads) {
  for (const std::string& input : node.input()) reads.push_back(input);
  const auto add_graph = [&](const GraphProto& graph) {
    for (const NodeProto& inner : graph.node()) add_reads(inner, reads);
    for (const ValueInfoProto& output : graph.output()) reads.push_back(output.name());
  };
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) add_graph(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) add_graph(graph);
  }
}

/// The nodes of a graph by what they read.
class Reading {
 public:
  explicit Reading(const GraphProto& graph) : reads_(static_cast<std::size_t>(graph.node_size())) {
    std::unordered_map<std::string_view, int> producer;
    for (int i = 0; i < graph.node_size(); ++i)
      for (const std::string& output : graph.node(i).output())
        if (!output.empty()) producer.emplace(output, i);
    std::vector<std::string_view> names;
    const auto producers = [&](std::vector<int>& found) {
      for (const std::string_view name : names)
        if (const auto node = producer.find(name); node != producer.end())
          found.push_back(node->second);
      names.clear();
    };
    for (int i = 0; i < graph.node_size(); ++i) {
      add_reads(graph.node(i), names);
      producers(reads_[static_cast<std::size_t>(i)]);
    }
    for (const ValueInfoProto& output : graph.output()) names.push_back(output.name());
    producers(wanted_);
  }

  /// The nodes that outputs follow from, each after those that it reads, else as they stand.
  std::vector<int> order() {
    std::vector<State> states(reads_.size(), State::New);
    std::vector<int> order;
    mark_needed(states);
    bool has_circle = false;
    for (int i = 0; i < static_cast<int>(reads_.size()); ++i)
      if (states[at(i)] == State::Needed) has_circle |= !visit(i, states, order);
    if (has_circle) std::ranges::sort(order);
    return order;
  }

 private:
  enum class State : unsigned char { New, Needed, Entered, Done };

  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  void mark_needed(std::vector<State>& states) const {
    std::vector<int> open = wanted_;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      if (std::exchange(states[at(node)], State::Needed) == State::Needed) continue;
      open.insert(open.end(), reads_[at(node)].begin(), reads_[at(node)].end());
    }
  }

  /// Uses no stack: a chain may be as long as a file likes. False where nodes read each other in a
  /// circle.
  bool visit(int first, std::vector<State>& states, std::vector<int>& order) const {
    std::vector<std::pair<int, std::size_t>> path{{first, 0}};
    states[at(first)] = State::Entered;
    bool is_sound = true;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == reads_[at(node)].size()) {
        states[at(node)] = State::Done;
        order.push_back(node);
        path.pop_back();
        continue;
      }
      const int read = reads_[at(node)][next++];
      is_sound = is_sound && states[at(read)] != State::Entered;
      if (states[at(read)] != State::Needed) continue;
      states[at(read)] = State::Entered;
      path.emplace_back(read, 0);
    }
    return is_sound;
  }

  std::vector<std::vector<int>> reads_;
  std::vector<int> wanted_;
};

void drop_unread_tensors(GraphProto& graph) {
  std::vector<std::string_view> reads;
  for (const NodeProto& node : graph.node()) add_reads(node, reads);
  for (const ValueInfoProto& output : graph.output()) reads.push_back(output.name());
  const std::set<std::string_view> read(reads.begin(), reads.end());
  auto& tensors = *graph.mutable_initializer();
  // Names of inputs stay tensors: an input with a value need not be given.
  std::set<std::string_view> inputs;
  for (const ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  const auto gone = std::remove_if(tensors.begin(), tensors.end(), [&](const TensorProto& tensor) {
    return !read.contains(tensor.name()) && !inputs.contains(tensor.name());
  });
  tensors.erase(gone, tensors.end());
}

void tidy(GraphProto& graph, Tidied& result) {
  const std::vector<int> order = Reading(graph).order();
  result.is_reordered = result.is_reordered || !std::ranges::is_sorted(order);
  RepeatedPtrField<NodeProto> nodes = std::exchange(*graph.mutable_node(), {});
  std::vector<bool> is_read(static_cast<std::size_t>(nodes.size()));
  for (const int node : order) {
    is_read[static_cast<std::size_t>(node)] = true;
    graph.mutable_node()->Add(std::move(nodes[node]));
  }
  for (int node = 0; node < nodes.size(); ++node) {
    if (!is_read[static_cast<std::size_t>(node)]) result.unread.push_back(std::move(nodes[node]));
  }
  drop_unread_tensors(graph);
  for (NodeProto& node : *graph.mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) tidy(*attribute.mutable_g(), result);
      for (GraphProto& inner : *attribute.mutable_graphs()) tidy(inner, result);
    }
  }
}

}  // namespace

Tidied tidy(GraphProto& graph) {
  Tidied result;
  tidy(graph, result);
  return result;
}

}  // namespace dyn::onnx
