#include "graph/ir/custom_op.hpp"

#include <utility>

#include "dyn/error.hpp"

namespace dyn::graph {

CustomOp::CustomOp(OpDef def) : OpDef(std::move(def)) {
  id = custom_op_id;
  infer = [](InferContext& context, std::vector<TensorType>& outputs) {
    custom_op(context.node())->infer_types(context, outputs);
  };
}

CustomOps::CustomOps(std::vector<std::shared_ptr<const CustomOp>> operators) {
  for (std::shared_ptr<const CustomOp>& each : operators) {
    const std::string& name = each->name;
    operators_.emplace(name, std::move(each));
  }
}

std::shared_ptr<const CustomOps> CustomOps::joined(const CustomOps& a, const CustomOps& b) {
  std::vector<std::shared_ptr<const CustomOp>> all;
  for (const auto& [name, op] : a.operators_) all.push_back(op);
  for (const auto& [name, op] : b.operators_) {
    if (a.operators_.contains(name))
      throw Error(ErrorKind::user, "two operators are called " + name);
    all.push_back(op);
  }
  return std::make_shared<const CustomOps>(std::move(all));
}

const OpDef* CustomOps::find(std::string_view name) const {
  const auto found = operators_.find(name);
  return found == operators_.end() ? nullptr : found->second.get();
}

std::vector<std::string_view> CustomOps::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, op] : operators_) names.push_back(name);
  return names;
}

const OpDef* find_op(std::string_view name, const CustomOps* custom) {
  const OpDef* op = find_op(name);
  return op == nullptr && custom != nullptr ? custom->find(name) : op;
}

}  // namespace dyn::graph
