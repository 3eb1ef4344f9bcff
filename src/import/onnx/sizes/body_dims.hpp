#pragma once
// Dims of a graph, and of the body of a loop in it, which has symbols of its own.

#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/ir/builder.hpp"

namespace dyn::onnx {

/// A symbol of the body stands for a dim outside that stays the same in all steps. It gets its
/// value from an input of the body that has it in its shape.
class BodyDims {
 public:
  /// Both must outlive it. The body has no nodes yet.
  BodyDims(graph::Builder& outside, graph::Builder& body) : outside_(outside), body_(body) {}

  /// For the shape of one of the body's inputs: a constant, or one symbol.
  graph::Dim of_port(graph::Dim outside);
  /// For sizes that the body computes with.
  graph::Dim of_size(graph::Dim outside);
  /// A symbol that stands for nothing outside: each step may have another size.
  graph::Dim varying();

  /// The dims outside whose symbols no port has.
  std::vector<graph::Dim> without_port() const;

  /// The dim outside that is the same; nothing where steps or the body decide it.
  std::optional<graph::Dim> outside_of(graph::Dim in_body) const;

 private:
  graph::Dim symbol_for(graph::Dim outside);
  graph::Dim new_symbol(graph::SymbolInfo info);

  struct Pair {
    graph::Dim outside, in_body;
    bool has_port;
  };
  graph::Builder& outside_;
  graph::Builder& body_;
  std::vector<Pair> pairs_;
  std::unordered_map<const graph::DimNode*, std::size_t> by_outside_;
  std::unordered_map<int, std::size_t> by_symbol_;  ///< of the body
};

}  // namespace dyn::onnx
