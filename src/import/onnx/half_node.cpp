#include "src/import/onnx/half_node.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"

namespace dyn::onnx {
namespace {

Tensor converted(const Tensor& tensor, DType dtype) {
  Tensor result{dtype, tensor.dims, {}};
  for (const double number : numbers_of(tensor)) {
    if (dtype == DType::f32) {
      const auto element = static_cast<float>(number);
      result.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
    } else {
      const std::uint16_t element = graph::code_of_float(dtype, number);
      result.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
    }
  }
  return result;
}

class HalfNode {
 public:
  /// Float results have the type of input `like`.
  HalfNode(GraphState& state, NodeProto& node, NodeContext& context, std::size_t like)
      : state_(state), node_(node), context_(context), like_(like) {}

  void widen_inputs() {
    for (std::size_t i = 0; i < context_.inputs(); ++i) {
      if (!context_.has(i)) continue;
      types_[i] = context_.type_of(i).dtype;
      if (!graph::is_half(types_[i])) continue;
      const std::string& name = node_.input(static_cast<int>(i));
      if (!given_.contains(name)) given_[name] = context_.operand(i);
    }
    for (const auto& [name, operand] : given_)
      state_.operands[name] = in(DType::f32, *operand, name);
  }

  void round_outputs() {
    for (const auto& [name, operand] : given_) state_.operands[name] = operand;
    for (std::size_t i = 0; i < context_.outputs(); ++i) {
      if (!context_.wants(i)) continue;
      const std::string& name = node_.output(static_cast<int>(i));
      const auto made = state_.operands.find(name);
      const std::optional<DType> dtype = rounded_to(i);
      if (made == state_.operands.end() || !dtype || dtype_of(*made->second) != DType::f32)
        continue;
      made->second = in(*dtype, *made->second, name);
    }
  }

 private:
  DType dtype_of(const Operand& operand) const {
    if (operand.id != graph::no_value) return state_.builder.type(operand.id).dtype;
    return operand.constant ? operand.constant.dtype() : operand.ints->dtype;
  }

  /// The specification says this of a float result: it has the type of one input; running figures
  /// have the type of those given, moments are f32.
  std::optional<DType> rounded_to(std::size_t output) const {
    const std::string& type = node_.op_type();
    std::size_t like = like_;
    if (output > 0 && (type == "LayerNormalization" || type == "SimplifiedLayerNormalization"))
      return std::nullopt;
    if (output > 0 && type == "BatchNormalization") like = 3;
    const auto found = types_.find(like);
    return found != types_.end() && graph::is_half(found->second) ? std::optional(found->second)
                                                                  : std::nullopt;
  }

  std::shared_ptr<Operand> in(DType dtype, const Operand& operand, const std::string& name) {
    if (operand.constant)
      return std::make_shared<Operand>(Operand{
          graph::no_value, std::make_shared<const Tensor>(converted(*operand.constant, dtype)),
          std::nullopt, name});
    const graph::ValueId id =
        state_.builder.add("cast", {operand.id}, name, {{"dtype", std::string(name_of(dtype))}});
    return std::make_shared<Operand>(Operand{id, nullptr, std::nullopt, name});
  }

  GraphState& state_;
  NodeProto& node_;
  NodeContext& context_;
  const std::size_t like_;
  std::map<std::size_t, DType> types_;                     ///< of the inputs
  std::map<std::string, std::shared_ptr<Operand>> given_;  ///< inputs of 16 bits
};

}  // namespace

void convert_halves(GraphState& state, NodeProto& node, NodeContext& context,
                    const Conversion& conversion) {
  if (conversion.halves == Halves::AsGiven) return conversion.convert(context);
  HalfNode halves(state, node, context, conversion.results_like);
  halves.widen_inputs();
  conversion.convert(context);
  halves.round_outputs();
}

}  // namespace dyn::onnx
