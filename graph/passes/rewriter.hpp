#pragma once
// Rebuilds the node list of a module, with new nodes and values where a pass wants them.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/ir/unique_names.hpp"

namespace dyn::graph {

/// A pass goes over the nodes of the module in order, and gives each back with keep(), or others in
/// its place with emit(); finish() makes the given ones the module's nodes. Value ids stay valid
/// throughout.
class Rewriter {
 public:
  explicit Rewriter(Module& module);

  Module& module() noexcept { return module_; }
  const TensorType& type(ValueId id) const { return module_.value(id).type; }

  /// New nodes carry the place of `node`, and `origin` as a new instance of that name (empty:
  /// none).
  void begin(const Node& node, const std::string& origin);

  void keep(Node node) { nodes_.push_back(std::move(node)); }

  /// A new node whose only result has this type. The result is `output` where given, else a new
  /// value, named after `hint`.
  ValueId emit(std::string_view op, std::vector<ValueId> inputs, TensorType type,
               std::vector<Attr> attrs = {}, ValueId output = no_value);

  /// A scalar; equal ones share a value.
  ValueId number(DType dtype, double number);
  ValueId integer(DType dtype, std::int64_t integer);

  /// A new value of kind Result, its name made unique from `hint`.
  ValueId result(const std::string& hint, TensorType type);

  /// Nobody computes the result: it is a weight.
  void becomes_weight(ValueId result, WeightSource source);
  /// A new weight made of others, its name made unique from `hint`.
  ValueId new_weight(const std::string& hint, TensorType type, WeightSource source);
  /// The same of parts.
  ValueId joined_weight(const std::string& hint, TensorType type, std::vector<ValueId> parts);

  /// How many nodes were given so far.
  std::size_t node_count() const noexcept { return nodes_.size(); }

  /// Makes the nodes given so far the module's.
  void finish();

 private:
  Module& module_;
  std::vector<Node> nodes_;
  UniqueNames names_;
  std::map<std::pair<DType, std::uint64_t>, ValueId> constants_;
  std::string hint_, origin_;
  int origin_id_ = -1, next_origin_id_ = 0;
  SourceLocation location_;
};

/// The node that computes a value; nullptr: none does. Nodes of the module stay where they are
/// until a rewriter's finish().
const Node* producer_of(const Module& module, ValueId id);
/// The same where it is of this operator; else nullptr.
const Node* producer_of(const Module& module, ValueId id, OpId op);

/// x with its last two axes exchanged.
ValueId emit_turned(Rewriter& rewriter, ValueId x);

}  // namespace dyn::graph
