#pragma once
// Converts nodes of a model's graph, and of the functions that they call, to nodes of the module.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/node_context.hpp"
#include "src/import/onnx/rolled_loop.hpp"

namespace dyn::onnx {

/// Nested calls use no stack: a file may nest them as deeply as it likes.
class Converter {
 public:
  Converter(GraphState& state, const Functions& functions) : state_(state), functions_(functions) {}

  /// True where the node's operator, if it calls no function, is converted.
  static bool knows(const NodeProto& node);

  /// Converts the node of the graph, or all nodes of the function that it calls. The node may lose
  /// its attributes. Errors name the node, and within functions the call.
  void convert(NodeProto& node);

  /// For each node of the module: the operator and name of the ONNX node that it comes from, and
  /// the function that has this node.
  std::vector<std::string> take_sources() { return std::move(sources_); }

 private:
  /// A function's body during its conversion: its names mean nothing to the caller, whose names
  /// wait here.
  struct Call {
    NodeProto node;
    const FunctionProto* function;
    Operands callers_operands;
    int callers_opset;
    int next = 0;
  };

  void step(NodeProto& node);
  void convert_operator(NodeProto& node);
  void mark_from_integers(NodeContext& context);
  /// Converts an operator that has graphs.
  using ConvertGraphs = void (Converter::*)(NodeContext&);
  /// nullptr: it has none.
  static ConvertGraphs find_graph_conversion(const NodeProto& node);
  void convert_sequence_map(NodeContext& context);
  void convert_flex_attention(NodeContext& context);
  ValueId modified(NodeContext& context, const char* name, ValueId x);
  void convert_if(NodeContext& context);
  void take_branch(NodeContext& context, const char* name);
  static void give_either(NodeContext& context, ValueId condition, std::optional<Dim> by_sizes,
                          Operand& yes, Operand& no, std::size_t output);
  /// Axes from the front, and whether they are gone through backwards.
  struct ScanPorts {
    std::size_t states = 0;
    Dim steps;
    std::vector<int> axes;
    std::vector<std::int64_t> directions, output_axes, output_directions;
  };
  void convert_loop(NodeContext& context);
  void unroll_loop(NodeContext& context, const GraphProto& body, std::int64_t most, bool begins,
                   OperandList carried);
  void convert_scan(NodeContext& context);
  static ScanPorts scan_ports(NodeContext& context, const GraphProto& body);
  void unroll_scan(NodeContext& context, const GraphProto& body, const ScanPorts& ports,
                   std::int64_t steps);
  OperandList convert_rolled(NodeContext& context, const GraphProto& body,
                             const LoopOperands& given);
  /// Initializers and Constants of a node's graph, by name: once for all steps of a loop.
  Operands constants_of(const GraphProto& body) const;
  /// The values of a node's graph by the positions of its outputs. The graph sees the names around
  /// it; its own names are gone afterwards.
  OperandList convert_body(const GraphProto& body, const Operands& constants,
                           const Operands& inputs);
  OperandList convert_branch(const GraphProto& branch);
  void enter(NodeProto& node, const FunctionProto& function);
  void leave();
  std::string place() const;

  GraphState& state_;
  const Functions& functions_;
  std::vector<Call> calls_;
  std::vector<std::string> sources_;
};

/// The version of the standard operators among these; nothing: they are not among them. Throws
/// Error(unsupported) for a version that is not read.
std::optional<int> standard_opset(const RepeatedPtrField<OperatorSetIdProto>& sets);

}  // namespace dyn::onnx
