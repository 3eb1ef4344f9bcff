#pragma once
// Operators that the program which uses dyn gives.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/tensor.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

class Builder;

/// OpDef::id of all operators that the program gives: the number after dyn's own. name_of() and
/// the registry do not know it.
inline constexpr auto custom_op_id = static_cast<OpId>(op_count);

/// Immutable; its functions may be called from several threads at once. What they throw is a
/// dyn::Error. Nodes point to it: whoever has a module keeps the operators of its nodes.
class CustomOp : public OpDef {
 public:
  virtual ~CustomOp() = default;
  CustomOp(const CustomOp&) = delete;
  CustomOp& operator=(const CustomOp&) = delete;

  /// The types of the results, as OpDef::infer gives them.
  virtual void infer_types(InferContext& context, std::vector<TensorType>& outputs) const = 0;
  /// True where it is other operators: no node of it stays in a module.
  virtual bool has_definition() const = 0;
  /// Adds them for a node with these inputs; gives its results. Only with a definition.
  virtual std::vector<ValueId> define(Builder& builder, const Node& node) const = 0;
  /// Fills the outputs, which have their sizes. Only without a definition.
  virtual void run(const Node& node, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs) const = 0;

 protected:
  /// `def` without id and infer.
  explicit CustomOp(OpDef def);
};

/// nullptr: the node is of an operator of dyn's.
inline const CustomOp* custom_op(const Node& node) {
  return node.op->id == custom_op_id ? static_cast<const CustomOp*>(node.op) : nullptr;
}

/// Operators by the names of the text, "domain::name". Immutable.
class CustomOps {
 public:
  /// No two have one name.
  explicit CustomOps(std::vector<std::shared_ptr<const CustomOp>> operators);

  /// Those of both. Throws Error(user) where both have one of the same name.
  static std::shared_ptr<const CustomOps> joined(const CustomOps& a, const CustomOps& b);

  /// nullptr where there is none of this name.
  const OpDef* find(std::string_view name) const;
  /// By name.
  std::vector<std::string_view> names() const;

 private:
  std::map<std::string, std::shared_ptr<const CustomOp>, std::less<>> operators_;
};

/// find_op(), and operators of the program; `custom` may be nullptr.
const OpDef* find_op(std::string_view name, const CustomOps* custom);

}  // namespace dyn::graph
