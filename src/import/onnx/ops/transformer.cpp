// Transformers have these around attention: gated activations, norms by the root mean square,
// places as rotations.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"
#include "src/import/onnx/parts/norms.hpp"
#include "src/import/onnx/parts/rotary.hpp"

namespace dyn::onnx {
namespace {

void convert_swish(NodeContext& node) {
  node.give(swish(input_expr(node, 0), node.number("alpha", 1)).id());
}

void convert_swiglu(NodeContext& node) {
  const TensorExpr gate = input_expr(node, 0), x = input_expr(node, 1);
  if (gate.rank() != x.rank())
    node.fail(fmt::format("its gate has {} dims, its input {}", gate.rank(), x.rank()));
  node.give((swish(gate, node.number("alpha", 1)) * x).id());
}

void convert_rms_norm(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0), scale = input_expr(node, 1);
  const int rank = x.rank(), axis = node.axis(node.integer("axis", -1), rank);
  const double epsilon = node.number("epsilon", 1e-5);
  if (!node.wants(1) && axis + 1 == rank && scale.rank() == 1 &&
      prove_equal(scale.dims().back(), x.dims().back()) == true)
    return node.give(rms_norm(x, scale, epsilon).id());
  const TensorExpr root = sqrt(reduce("reduce_mean", x * x, axes_from(axis, rank), true) + epsilon);
  node.give((x / root * scale).id());
  // ONNX Runtime's operator of this kind has it.
  if (node.wants(1)) node.give(apply("reciprocal", {root}).id(), 1);
}

/// A cosine or sine for each token and pair of numbers, with a dim of 1 for the heads.
TensorExpr turns(NodeContext& node, std::size_t input, int head_axis) {
  TensorExpr cache = input_expr(node, input);
  if (node.has(3)) cache = gather(cache, input_expr(node, 3), 0);
  if (cache.rank() != 3)
    node.fail(fmt::format("its caches have {} dims; with position_ids they need 2, without 3",
                          node.type(input).rank()));
  return unsqueeze(cache, head_axis);
}

void convert_rotary_embedding(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const bool is_flat = x.rank() == 3;
  if (!is_flat) node.require_rank(0, 4);
  const std::int64_t heads = node.integer("num_heads", 0),
                     turned = node.integer("rotary_embedding_dim", 0);
  if (is_flat && heads < 1) node.fail("with an input of three dims it needs num_heads");
  Dims dims = x.dims();
  if (is_flat) {
    dims.insert(dims.end() - 1, node.dims().constant(heads));
    dims.back() = floordiv(dims.back(), node.dims().constant(heads));
  }
  const TensorExpr by_head = is_flat ? reshape(x, dims) : x;
  const Dim part = turned > 0 ? node.dims().constant(turned) : dims.back();
  const int head_axis = is_flat ? 2 : 1;
  const TensorExpr cosine = turns(node, 1, head_axis), sine = turns(node, 2, head_axis);
  const TensorExpr result =
      rotated(by_head, {cosine, sine, part, node.integer("interleaved", 0) != 0});
  node.give((is_flat ? reshape(result, x.dims()) : result).id());
}

}  // namespace

Family transformer_operators() {
  return {{"Swish", convert_swish, Halves::InF32},
          {"SwiGLU", convert_swiglu, Halves::InF32},
          {"RMSNormalization", convert_rms_norm, Halves::InF32},
          {"SimplifiedLayerNormalization", convert_rms_norm, Halves::InF32, 1},
          {"RotaryEmbedding", convert_rotary_embedding, Halves::InF32}};
}

}  // namespace dyn::onnx
