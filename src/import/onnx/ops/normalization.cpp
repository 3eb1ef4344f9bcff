// Softmax, and normalisation by mean and variance.

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/before_opset7.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// Before opset 13 all axes from `axis` on count as one: softmax over a matrix.
void convert_softmax(NodeContext& node) {
  constexpr int one_axis = 13;
  const ValueId x = node.value(0);
  const std::vector<Dim> dims = node.type(0).dims;
  const bool is_log = node.node().op_type() == "LogSoftmax";
  const bool flattens = node.opset() < one_axis;
  const int axis =
      node.axis(node.integer("axis", flattens ? 1 : -1), static_cast<int>(dims.size()));
  const auto softmax = [&](ValueId of, int along) {
    const ValueId result = node.add("softmax", {of}, {node.dim("axis", along)});
    if (!is_log) return result;
    // x - max - log(sum(exp(x - max))): the logarithm of softmax would be of 0 where it underflows.
    const std::vector<std::int64_t> axes{along};
    const std::vector<graph::Attr> over{node.integer_list("axes", axes)};
    const ValueId shifted = node.add("sub", {of, node.add("reduce_max", {of}, over)});
    return node.add(
        "sub",
        {shifted, node.add("log", {node.add("reduce_sum", {node.add("exp", {shifted})}, over)})});
  };
  if (!flattens || axis + 1 == static_cast<int>(dims.size())) return node.give(softmax(x, axis));
  Dim rest = node.dims().constant(1);
  std::vector<Dim> matrix(dims.begin(), dims.begin() + axis);
  for (std::size_t i = static_cast<std::size_t>(axis); i < dims.size(); ++i) rest = rest * dims[i];
  matrix.push_back(rest);
  const ValueId result = softmax(node.add("reshape", {x}, {node.dim_list("shape", matrix)}), axis);
  node.give(node.add("reshape", {result}, {node.dim_list("shape", dims)}));
}

struct Moments {
  ValueId mean, centered,
      deviation;  ///< the mean, x - mean, and the square root of variance + epsilon
};

Moments moments(NodeContext& node, ValueId x, const std::vector<std::int64_t>& axes,
                double epsilon) {
  const std::vector<graph::Attr> over{node.integer_list("axes", axes)};
  const ValueId mean = node.add("reduce_mean", {x}, over), centered = node.add("sub", {x, mean});
  const ValueId variance = node.add("reduce_mean", {node.add("mul", {centered, centered})}, over);
  return {mean, centered, node.add("sqrt", {node.add("add", {variance, node.scalar(epsilon, x)})})};
}

void convert_layer_norm(NodeContext& node) {
  const ValueId x = node.value(0);
  const int rank = node.type(0).rank(), axis = node.axis(node.integer("axis", -1), rank);
  const double epsilon = node.number("epsilon", 1e-5);
  if (axis + 1 == rank && node.has(2) && !node.wants(1) && !node.wants(2) &&
      node.type(1).rank() == 1 && node.type(2).rank() == 1)
    return node.give(
        node.add("layer_norm", {x, node.value(1), node.value(2)}, {{"epsilon", epsilon}}));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const Moments of = moments(node, x, axes, epsilon);
  ValueId result = node.add("mul", {node.add("div", {of.centered, of.deviation}), node.value(1)});
  if (node.has(2)) result = node.add("add", {result, node.value(2)});
  node.give(result);
  node.give(of.mean, 1);
  if (node.wants(2)) node.give(node.add("reciprocal", {of.deviation}), 2);
}

/// A vector along axis 1 of x, so that it broadcasts.
ValueId along_channels(NodeContext& node, std::size_t input, int rank) {
  node.require_rank(input, 1);
  std::vector<Dim> dims{node.type(input).dims[0]};
  dims.insert(dims.end(), static_cast<std::size_t>(rank - 2), node.dims().constant(1));
  return node.add("reshape", {node.value(input)}, {node.dim_list("shape", dims)});
}

/// A constant for each channel, which broadcasts along axis 1.
ValueId channel_constant(NodeContext& node, const std::vector<float>& numbers, int rank,
                         const std::string& name) {
  Integers dims(static_cast<std::size_t>(rank - 1), 1);
  dims[0] = static_cast<std::int64_t>(numbers.size());
  return constant_expr(node, DType::f32, dims, numbers, name).id();
}

/// Computes the factor and the summand of each channel from known figures, in double; false where
/// they depend on the graph's inputs, and for f64.
bool give_known_batch_norm(NodeContext& node, ValueId x, int rank) {
  if (node.type(0).dtype != DType::f32) return false;
  std::vector<std::vector<double>> figures;
  for (std::size_t input = 1; input <= 4; ++input) {
    const Tensor* constant = node.constant(input);
    if (constant == nullptr || constant->dims.size() != 1) return false;
    figures.push_back(numbers_of(*constant));
    if (figures.back().size() != figures.front().size())
      node.fail("its figures for each channel differ in number");
  }
  const double epsilon = node.number("epsilon", 1e-5);
  std::vector<float> factors, summands;
  for (std::size_t channel = 0; channel < figures[0].size(); ++channel) {
    const double factor = figures[0][channel] / std::sqrt(figures[3][channel] + epsilon);
    factors.push_back(static_cast<float>(factor));
    summands.push_back(static_cast<float>(figures[1][channel] - figures[2][channel] * factor));
  }
  const ValueId scaled =
      node.add("mul", {x, channel_constant(node, factors, rank, node.node().input(1) + ".factor")});
  node.give(node.add(
      "add", {scaled, channel_constant(node, summands, rank, node.node().input(2) + ".summand")}));
  return true;
}

/// Normalises by the mean and variance of x itself, with which the running ones are mixed.
void give_training_batch_norm(NodeContext& node, ValueId x, int rank) {
  std::vector<std::int64_t> axes{0};
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  const std::vector<graph::Attr> over{node.integer_list("axes", axes)};
  const ValueId mean = node.add("reduce_mean", {x}, over), centered = node.add("sub", {x, mean});
  const ValueId variance = node.add("reduce_mean", {node.add("mul", {centered, centered})}, over);
  const ValueId deviation =
      node.add("sqrt", {node.add("add", {variance, node.scalar(node.number("epsilon", 1e-5), x)})});
  const ValueId scaled =
      node.add("mul", {node.add("div", {centered, deviation}), along_channels(node, 1, rank)});
  node.give(node.add("add", {scaled, along_channels(node, 2, rank)}));
  const double momentum = node.number("momentum", 0.9);
  const auto give_running = [&](std::size_t input, ValueId now, std::size_t output) {
    const ValueId flat =
                      node.add("reshape", {now}, {node.dim_list("shape", node.type(input).dims)}),
                  before = node.value(input);
    const ValueId kept = node.add("mul", {before, node.scalar(momentum, before)});
    node.give(node.add("add", {kept, node.add("mul", {flat, node.scalar(1 - momentum, flat)})}),
              output);
  };
  give_running(3, mean, 1);
  give_running(4, variance, 2);
}

void convert_batch_norm(NodeContext& node) {
  const ValueId x = node.value(0);
  const int rank = node.type(0).rank();
  refuse_training(node);
  if (node.integer("spatial", 1) == 0)
    node.fail_unsupported("figures for each element of a channel are not supported");
  if (rank < 2) node.fail("its input must have at least 2 dims");
  if (node.integer("training_mode", 0) != 0) return give_training_batch_norm(node, x, rank);
  if (give_known_batch_norm(node, x, rank)) return;
  const ValueId scale = along_channels(node, 1, rank), bias = along_channels(node, 2, rank),
                mean = along_channels(node, 3, rank);
  const ValueId variance = along_channels(node, 4, rank);
  const ValueId deviation =
      node.add("sqrt", {node.add("add", {variance, node.scalar(node.number("epsilon", 1e-5), x)})});
  const ValueId normal = node.add("div", {node.add("sub", {x, mean}), deviation});
  node.give(node.add("add", {node.add("mul", {normal, scale}), bias}));
}

void convert_instance_norm(NodeContext& node) {
  const ValueId x = node.value(0);
  const int rank = node.type(0).rank();
  if (rank < 3) node.fail("its input must have at least 3 dims");
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  const Moments of = moments(node, x, axes, node.number("epsilon", 1e-5));
  const ValueId normal = node.add("div", {of.centered, of.deviation});
  node.give(node.add("add", {node.add("mul", {normal, along_channels(node, 1, rank)}),
                             along_channels(node, 2, rank)}));
}

}  // namespace

Family normalization_operators() {
  return {{"Softmax", convert_softmax},
          {"LogSoftmax", convert_softmax, Halves::InF32},
          {"LayerNormalization", convert_layer_norm, Halves::InF32},
          {"BatchNormalization", convert_batch_norm, Halves::InF32},
          {"InstanceNormalization", convert_instance_norm, Halves::InF32}};
}

}  // namespace dyn::onnx
