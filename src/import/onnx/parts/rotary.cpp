#include "src/import/onnx/parts/rotary.hpp"

namespace dyn::onnx {
namespace {

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

}  // namespace

TensorExpr rotated(const TensorExpr& heads, const Turns& turns) {
  NodeContext& node = heads.node();
  const int last = heads.rank() - 1;
  const Dim size = heads.dims().back(), half = floordiv(turns.part, node.dims().constant(2));
  const bool is_whole = prove_equal(turns.part, size) == true;
  const TensorExpr turned =
      is_whole ? heads : slice(heads, last, node.dims().constant(0), turns.part);
  const Pairs from = pairs_of(turned, half, turns.interleaved);
  const Pairs to{turns.cosine * from.first - turns.sine * from.second,
                 turns.sine * from.first + turns.cosine * from.second};
  const TensorExpr result = joined(to, turned.dims(), turns.interleaved);
  return is_whole ? result : concat({result, slice(heads, last, turns.part, size)}, last);
}

}  // namespace dyn::onnx
