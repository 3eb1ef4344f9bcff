#include "src/import/onnx/parts/norms.hpp"

#include <numeric>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

void require_vector(const TensorExpr& x, const char* what) {
  if (x.rank() != 1)
    x.node().fail(fmt::format("its {} have {} dims; they must be a vector", what, x.rank()));
}

}  // namespace

Integers axes_from(int first, int rank) {
  Integers axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

TensorExpr centered(const TensorExpr& x, const Integers& axes) {
  return x - reduce("reduce_mean", x, axes, true);
}

TensorExpr variance_of(const TensorExpr& centered, const Integers& axes) {
  return reduce("reduce_mean", centered * centered, axes, true);
}

TensorExpr layer_norm(const TensorExpr& x, const TensorExpr& factors,
                      const std::optional<TensorExpr>& summands, double epsilon) {
  require_vector(factors, "factors");
  if (summands) require_vector(*summands, "summands");
  return apply("layer_norm",
               {x, factors, summands ? *summands : expand(factors.scalar(0), factors.dims())},
               {{"epsilon", epsilon}});
}

TensorExpr rms_norm(const TensorExpr& x, const TensorExpr& factors, double epsilon) {
  require_vector(factors, "factors");
  return apply("rms_norm", {x, factors}, {{"epsilon", epsilon}});
}

TensorExpr group_normalized(const TensorExpr& x, std::int64_t groups, double epsilon,
                            Channels channels) {
  NodeContext& node = x.node();
  if (groups < 1) node.fail(fmt::format("it has {} groups, and needs at least one", groups));
  if (x.rank() < 2) node.fail("its input needs a batch and channels");
  const std::ptrdiff_t axis = channels == Channels::Last ? x.rank() - 1 : 1;
  const Dim count = node.dims().constant(groups);
  Dims apart = x.dims();
  apart[static_cast<std::size_t>(axis)] = floordiv(apart[static_cast<std::size_t>(axis)], count);
  apart.insert(apart.begin() + axis, count);
  Integers axes = axes_from(1, x.rank() + 1);
  axes.erase(axes.begin() + (axis - 1));
  const TensorExpr from_mean = centered(reshape(x, apart), axes);
  return from_mean / sqrt(variance_of(from_mean, axes) + epsilon);
}

}  // namespace dyn::onnx
