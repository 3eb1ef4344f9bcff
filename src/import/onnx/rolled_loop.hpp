#pragma once
// A loop that stays one: its body becomes a graph of its own, which the module's `loop` runs.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/import/onnx/node_context.hpp"
#include "src/import/onnx/sizes/body_dims.hpp"

namespace dyn::onnx {

/// The number of steps of a loop without a trip count.
inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// What a Loop or Scan gives its body.
struct LoopOperands {
  ValueId steps = graph::no_value, condition = graph::no_value;  ///< i64[] and bool[]
  std::optional<Dim> most;  ///< the most steps, where nothing but sizes decides it
  bool begins = false;      ///< the condition is known to hold at first
  OperandList carried;
  std::vector<ValueId> scanned;  ///< along their first axes
  bool is_counted = false;       ///< the body begins with the number of the step and a condition
};

/// Converts a body as often as it takes to know which sizes of carried values stay the same: the
/// others have symbols of their own.
class RolledLoop {
 public:
  /// Adds the body's nodes to a graph that has all operands from around them, and gives its
  /// outputs.
  using Convert = std::function<OperandList(GraphState& graph)>;

  /// All must outlive it.
  RolledLoop(GraphState& outside, NodeContext& node, const GraphProto& body,
             const LoopOperands& given, const Convert& convert);

  /// The last carried values, then what the steps have made, stacked along a first axis. Throws
  /// what the conversion of the body throws.
  OperandList convert();

 private:
  /// One conversion of the body.
  struct Attempt;

  void count_conversion();
  void find_unchanged();
  void find_names_around();
  std::shared_ptr<Operand> captured(Attempt& attempt, const std::string& name,
                                    const std::shared_ptr<Operand>& outside) const;
  void add_ports(Attempt& attempt);
  void add_names_around(Attempt& attempt);
  void add_sizes(Attempt& attempt);
  ValueId add_input(Attempt& attempt, const std::string& name, graph::TensorType type) const;
  void check_carried(Attempt& attempt, std::size_t index, ValueId after) const;
  bool stays(Attempt& attempt);
  void add_stacks(Attempt& attempt, NodeContext& in_body, const OperandList& results);
  std::shared_ptr<Operand> grown(std::size_t place, ValueId stack);
  std::optional<Dim> count_by_sizes(Attempt& attempt);
  void find_end(Attempt& attempt, NodeContext& in_body, const Operand& goes_on);
  OperandList finish(Attempt& attempt);
  std::vector<graph::Attr> attributes(Attempt& attempt, const graph::Module& module);
  void take_weights(GraphState& graph);
  void take_bodies(graph::Module module, GraphState& graph);

  GraphState &outside_, &whole_;  ///< around the loop, and the model's own
  NodeContext& node_;
  const GraphProto& body_;
  const LoopOperands& given_;
  const Convert& convert_;
  const std::string name_;
  std::vector<std::size_t> carried_;  ///< places of the tensors that steps change
  std::vector<std::size_t> growing_;  ///< places of sequences, at whose ends steps put tensors
  std::vector<bool> is_unchanged_;    ///< by place: it is a value from around the loop
  std::vector<ValueId> first_carried_;
  std::vector<std::vector<bool>> varies_;  ///< by carried value and axis
  std::vector<std::string> names_around_;  ///< that the body reads
};

}  // namespace dyn::onnx
