// Transformers have these around attention: gated activations, norms by the root mean square,
// places as rotations.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"
#include "src/import/onnx/parts/norms.hpp"

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

/// The two numbers that are turned together: neighbours, or one of each half of the last axis.
struct Pairs {
  TensorExpr first, second;
};

Pairs pairs_of(const TensorExpr& x, Dim half, bool interleaved) {
  const Dim zero = x.node().dims().constant(0), one = x.node().dims().constant(1);
  const int last = x.rank() - 1;
  if (!interleaved) return {slice(x, last, zero, half), slice(x, last, half, half * 2)};
  Dims dims = x.dims();
  dims.back() = half;
  const Dims single = dims;
  dims.push_back(x.node().dims().constant(2));
  const TensorExpr pairs = reshape(x, dims);
  return {reshape(slice(pairs, last + 1, zero, one), single),
          reshape(slice(pairs, last + 1, one, one * 2), single)};
}

TensorExpr joined(const Pairs& pairs, const Dims& dims, bool interleaved) {
  const int last = pairs.first.rank() - 1;
  if (!interleaved) return concat({pairs.first, pairs.second}, last);
  return reshape(
      concat({unsqueeze(pairs.first, last + 1), unsqueeze(pairs.second, last + 1)}, last + 1),
      dims);
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
  const Dim size = dims.back(), part = turned > 0 ? node.dims().constant(turned) : size,
            half = floordiv(part, node.dims().constant(2));
  const bool interleaved = node.integer("interleaved", 0) != 0,
             is_whole = prove_equal(part, size) == true;
  const TensorExpr rotated = is_whole ? by_head : slice(by_head, 3, node.dims().constant(0), part);
  const TensorExpr cosine = turns(node, 1, is_flat ? 2 : 1), sine = turns(node, 2, is_flat ? 2 : 1);
  const Pairs from = pairs_of(rotated, half, interleaved);
  const Pairs to{cosine * from.first - sine * from.second,
                 sine * from.first + cosine * from.second};
  TensorExpr result = joined(to, rotated.dims(), interleaved);
  if (!is_whole) result = concat({result, slice(by_head, 3, part, size)}, 3);
  node.give((is_flat ? reshape(result, x.dims()) : result).id());
}

}  // namespace

Family transformer_operators() {
  return {{"Swish", convert_swish, Halves::InF32},
          {"SwiGLU", convert_swiglu, Halves::InF32},
          {"RMSNormalization", convert_rms_norm, Halves::InF32},
          {"SimplifiedLayerNormalization", convert_rms_norm, Halves::InF32},
          {"RotaryEmbedding", convert_rotary_embedding, Halves::InF32}};
}

}  // namespace dyn::onnx
