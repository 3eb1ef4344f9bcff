// FlexAttention: graphs of the node change scores and weights.

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/scalars.hpp"
#include "src/import/onnx/converter.hpp"
#include "src/import/onnx/parts/attention.hpp"
#include "src/import/onnx/unrolling.hpp"

namespace dyn::onnx {
namespace {

enum Port : std::size_t { FlexQuery, FlexKey, FlexValue };

bool has_graph(const NodeContext& node, const char* name) {
  return node.attribute(name) != nullptr;
}

const GraphProto& graph_with_one_port(const NodeContext& node, const char* name) {
  const AttributeProto* attribute = node.attribute(name);
  if (!attribute->has_g()) node.fail(fmt::format("{} is no graph", name));
  const GraphProto& graph = attribute->g();
  if (graph.input_size() != 1 || graph.output_size() != 1)
    node.fail(fmt::format("the graph {} has {} inputs and {} outputs, not one each", name,
                          graph.input_size(), graph.output_size()));
  return graph;
}

/// The dtype of scores and weights.
DType precision_of(const NodeContext& node, DType computed) {
  if (node.attribute("softmax_precision") == nullptr) return computed;
  const DType dtype = node.dtype("softmax_precision");
  if (!is_float(dtype)) node.fail(fmt::format("softmax_precision is {}, no float", name_of(dtype)));
  return dtype;
}

/// Those of 16 bits in f32.
TensorExpr computed_input(NodeContext& node, std::size_t input) {
  node.require_rank(input, 4);
  const TensorExpr x = input_expr(node, input);
  return graph::is_half(x.dtype()) ? cast(x, DType::f32) : x;
}

AttentionOperands flex_operands(NodeContext& node) {
  const TensorExpr q = computed_input(node, FlexQuery);
  const Dim heads = q.dims()[1];
  const bool has_scale = node.attribute("scale") != nullptr;
  return {q, repeated_heads(computed_input(node, FlexKey), heads),
          repeated_heads(computed_input(node, FlexValue), heads),
          has_scale ? node.number("scale", 0) : scale_of(q, 0)};
}

TensorExpr as_dtype(const TensorExpr& x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

}  // namespace

/// The node's graph applied to x, which it must leave its shape and dtype.
ValueId Converter::modified(NodeContext& context, const char* name, ValueId x) {
  if (!has_graph(context, name)) return x;
  const GraphProto& graph = graph_with_one_port(context, name);
  const auto given =
      std::make_shared<Operand>(Operand{x, nullptr, std::nullopt, graph.input(0).name()});
  const OperandList results =
      convert_body(graph, constants_of(graph), bound(context, graph, {given}));
  const ValueId made = context.value_of(*results.front());
  const graph::TensorType before = context.builder().type(x), after = context.builder().type(made);
  bool fits = before.dtype == after.dtype && before.rank() == after.rank();
  for (std::size_t i = 0; fits && i < before.dims.size(); ++i)
    fits = prove_equal(before.dims[i], after.dims[i]) != false;
  if (!fits)
    context.fail(fmt::format("the graph {} makes {} of {}", name, graph::to_string(after),
                             graph::to_string(before)));
  return made;
}

void Converter::convert_flex_attention(NodeContext& context) {
  const AttentionOperands of = flex_operands(context);
  const DType computed = of.q.dtype(), given = context.type(FlexQuery).dtype,
              precision = precision_of(context, computed);
  if (!has_graph(context, "score_mod") && !has_graph(context, "prob_mod") && precision == computed)
    return context.give(as_dtype(attend(of, {}, false, {}), given).id());
  const TensorExpr products = matmul(of.q, transpose(of.k, {0, 1, 3, 2})) * of.scale;
  const TensorExpr scores(context,
                          modified(context, "score_mod", as_dtype(products, precision).id()));
  const TensorExpr softmax = apply("softmax", {scores}, {context.dim("axis", -1)});
  const TensorExpr weights(context, modified(context, "prob_mod", softmax.id()));
  context.give(as_dtype(matmul(as_dtype(weights, computed), of.v), given).id());
}

}  // namespace dyn::onnx
