// Operators on 8-bit integers that stand for numbers: computed in f32, and rounded to integers
// again.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

/// Two operands with their scales and zero points, and those of the result.
constexpr QuantizedInput left{0, 1, 2}, right{3, 4, 5};
constexpr std::size_t of_pair = 6;
/// The same of one operand.
constexpr std::size_t of_single = 3;

/// The result has the dtype of the first operand, and the scale and zero point that begin at input
/// `parameters`.
void give_requantized(NodeContext& node, const TensorExpr& x, std::size_t parameters,
                      const QuantizedInput& like) {
  node.give(requantized(x, parameters, parameters + 1, node.type_of(like.tensor).dtype).id());
}

void convert_qlinear_add(NodeContext& node) {
  const TensorExpr a = number_input(node, left), b = number_input(node, right);
  give_requantized(node, a + b, of_pair, left);
}

void convert_qlinear_mul(NodeContext& node) {
  const TensorExpr a = number_input(node, left), b = number_input(node, right);
  give_requantized(node, a * b, of_pair, left);
}

void convert_qlinear_sigmoid(NodeContext& node) {
  give_requantized(node, apply("sigmoid", {number_input(node, left)}), of_single, left);
}

void convert_qlinear_leaky_relu(NodeContext& node) {
  const TensorExpr x = number_input(node, left);
  give_requantized(node, leaky_relu(x, x.scalar(node.number("alpha", 0.01))), of_single, left);
}

/// Before opset 13 all axes from `axis` on count as one.
void convert_qlinear_softmax(NodeContext& node) {
  constexpr std::int64_t one_axis = 13;
  const TensorExpr x = number_input(node, left);
  const bool flattens = node.integer("opset", one_axis) < one_axis;
  const int axis = node.axis(node.integer("axis", flattens ? 1 : -1), x.rank());
  Dims shape = x.dims();
  if (flattens) {
    const Dims merged(shape.begin() + axis, shape.end());
    shape.erase(shape.begin() + axis, shape.end());
    shape.push_back(product(node, merged));
  }
  const TensorExpr result =
      apply("softmax", {flattens ? reshape(x, shape) : x}, {node.dim("axis", axis)});
  give_requantized(node, flattens ? reshape(result, x.dims()) : result, of_single, left);
}

Channels channels_of(NodeContext& node) {
  return node.integer("channels_last", 0) != 0 ? Channels::Last : Channels::First;
}

void convert_qlinear_global_average_pool(NodeContext& node) {
  extents_of(node);
  give_requantized(node, global_pool("reduce_mean", number_input(node, left), channels_of(node)),
                   of_single, left);
}

void convert_qlinear_average_pool(NodeContext& node) {
  give_requantized(node, average_pool(node, number_input(node, left), channels_of(node)), of_single,
                   left);
}

void convert_qlinear_reduce_mean(NodeContext& node) {
  const TensorExpr x = number_input(node, left);
  Integers axes = node.integers("axes").value_or(Integers{});
  for (std::int64_t& axis : axes) axis = node.axis(axis, x.rank());
  const TensorExpr mean = x.rank() == 0 ? x
                                        : apply("reduce_mean", {x},
                                                {node.integer_list("axes", axes),
                                                 {"keepdims", node.integer("keepdims", 1) != 0}});
  give_requantized(node, mean, of_single, left);
}

/// The result's scale and zero point come first, and three inputs for each part follow.
void convert_qlinear_concat(NodeContext& node) {
  constexpr std::size_t first = 2, each = 3;
  if (node.inputs() < first + each || (node.inputs() - first) % each != 0)
    node.fail(
        fmt::format("it has {} inputs; it needs two, and three for each part", node.inputs()));
  std::vector<TensorExpr> parts;
  for (std::size_t i = first; i < node.inputs(); i += each)
    parts.push_back(number_input(node, {i, i + 1, i + 2}));
  const int axis = node.axis(node.integer("axis", 0), parts.front().rank());
  give_requantized(node, concat(parts, axis), 0, {first, 0, 0});
}

void convert_qlinear_where(NodeContext& node) {
  constexpr QuantizedInput if_true{1, 2, 3}, if_false{4, 5, 6};
  constexpr std::size_t of_result = 7;
  const TensorExpr condition = input_expr(node, 0), x = number_input(node, if_true),
                   y = number_input(node, if_false);
  give_requantized(node, where(condition, x, y), of_result, if_true);
}

}  // namespace

Family quantized_element_operators() {
  return {{"QLinearAdd", convert_qlinear_add},
          {"QLinearMul", convert_qlinear_mul},
          {"QLinearSigmoid", convert_qlinear_sigmoid},
          {"QLinearLeakyRelu", convert_qlinear_leaky_relu},
          {"QLinearSoftmax", convert_qlinear_softmax},
          {"QLinearGlobalAveragePool", convert_qlinear_global_average_pool},
          {"QLinearAveragePool", convert_qlinear_average_pool},
          {"QLinearReduceMean", convert_qlinear_reduce_mean},
          {"QLinearConcat", convert_qlinear_concat},
          {"QLinearWhere", convert_qlinear_where}};
}

}  // namespace dyn::onnx
