#include "src/import/onnx/parts/tensor_expr.hpp"

#include <functional>
#include <numeric>

namespace dyn::onnx {
namespace {

/// Applies the replacements of symbols since the dims were asked for.
void resolve(NodeContext& node, graph::Attr& attr) {
  auto* dims = std::get_if<Dims>(&attr.value);
  if (dims == nullptr) return;
  for (Dim& dim : *dims) dim = node.builder().resolve(dim);
}

}  // namespace

TensorExpr input_expr(NodeContext& node, std::size_t input) { return {node, node.value(input)}; }

TensorExpr apply(std::string_view op, const std::vector<TensorExpr>& arguments,
                 std::vector<graph::Attr> attrs) {
  std::vector<ValueId> ids;
  for (const TensorExpr& each : arguments) ids.push_back(each.id());
  NodeContext& node = arguments.front().node();
  for (graph::Attr& attr : attrs) resolve(node, attr);
  return {node, node.add(op, std::move(ids), std::move(attrs))};
}

TensorExpr operator+(const TensorExpr& a, const TensorExpr& b) { return apply("add", {a, b}); }
TensorExpr operator-(const TensorExpr& a, const TensorExpr& b) { return apply("sub", {a, b}); }
TensorExpr operator*(const TensorExpr& a, const TensorExpr& b) { return apply("mul", {a, b}); }
TensorExpr operator/(const TensorExpr& a, const TensorExpr& b) { return apply("div", {a, b}); }
TensorExpr operator-(const TensorExpr& a) { return apply("neg", {a}); }
TensorExpr operator+(const TensorExpr& a, double b) { return a + a.scalar(b); }
TensorExpr operator-(const TensorExpr& a, double b) { return a - a.scalar(b); }
TensorExpr operator*(const TensorExpr& a, double b) { return a * a.scalar(b); }
TensorExpr operator/(const TensorExpr& a, double b) { return a / a.scalar(b); }
TensorExpr operator+(double a, const TensorExpr& b) { return b.scalar(a) + b; }
TensorExpr operator-(double a, const TensorExpr& b) { return b.scalar(a) - b; }
TensorExpr operator*(double a, const TensorExpr& b) { return b.scalar(a) * b; }
TensorExpr operator/(double a, const TensorExpr& b) { return b.scalar(a) / b; }

TensorExpr abs(const TensorExpr& x) { return apply("abs", {x}); }
TensorExpr floor(const TensorExpr& x) { return apply("floor", {x}); }
TensorExpr ceil(const TensorExpr& x) { return apply("ceil", {x}); }
TensorExpr round(const TensorExpr& x) { return apply("round", {x}); }
TensorExpr sqrt(const TensorExpr& x) { return apply("sqrt", {x}); }
TensorExpr exp(const TensorExpr& x) { return apply("exp", {x}); }
TensorExpr log(const TensorExpr& x) { return apply("log", {x}); }
TensorExpr sin(const TensorExpr& x) { return apply("sin", {x}); }
TensorExpr cos(const TensorExpr& x) { return apply("cos", {x}); }
TensorExpr pow(const TensorExpr& x, double exponent) {
  return apply("pow", {x, x.scalar(exponent)});
}
TensorExpr mod(const TensorExpr& a, const TensorExpr& b) { return apply("mod", {a, b}); }
TensorExpr minimum(const TensorExpr& a, const TensorExpr& b) { return apply("minimum", {a, b}); }
TensorExpr maximum(const TensorExpr& a, const TensorExpr& b) { return apply("maximum", {a, b}); }
TensorExpr minimum(const TensorExpr& a, double b) { return minimum(a, a.scalar(b)); }
TensorExpr maximum(const TensorExpr& a, double b) { return maximum(a, a.scalar(b)); }

TensorExpr equal(const TensorExpr& a, const TensorExpr& b) { return apply("equal", {a, b}); }
TensorExpr equal(const TensorExpr& a, double b) { return equal(a, a.scalar(b)); }
TensorExpr less(const TensorExpr& a, const TensorExpr& b) { return apply("less", {a, b}); }
TensorExpr less(const TensorExpr& a, double b) { return less(a, a.scalar(b)); }
TensorExpr less_equal(const TensorExpr& a, const TensorExpr& b) {
  return apply("less_equal", {a, b});
}
TensorExpr less_equal(const TensorExpr& a, double b) { return less_equal(a, a.scalar(b)); }
TensorExpr both(const TensorExpr& a, const TensorExpr& b) { return apply("logical_and", {a, b}); }
TensorExpr either(const TensorExpr& a, const TensorExpr& b) { return apply("logical_or", {a, b}); }
TensorExpr negated(const TensorExpr& a) { return apply("logical_not", {a}); }
TensorExpr where(const TensorExpr& condition, const TensorExpr& a, const TensorExpr& b) {
  return apply("where", {condition, a, b});
}
TensorExpr where(const TensorExpr& condition, const TensorExpr& a, double b) {
  return where(condition, a, a.scalar(b));
}
TensorExpr where(const TensorExpr& condition, double a, const TensorExpr& b) {
  return where(condition, b.scalar(a), b);
}

TensorExpr cast(const TensorExpr& x, DType dtype) {
  return x.dtype() == dtype ? x : apply("cast", {x}, {{"dtype", std::string(name_of(dtype))}});
}

TensorExpr reshape(const TensorExpr& x, const Dims& dims) {
  return apply("reshape", {x}, {x.node().dim_list("shape", dims)});
}

TensorExpr expand(const TensorExpr& x, const Dims& dims) {
  return apply("expand", {x}, {x.node().dim_list("shape", dims)});
}

TensorExpr transpose(const TensorExpr& x, const Integers& perm) {
  return apply("transpose", {x}, {x.node().integer_list("perm", perm)});
}

TensorExpr slice(const TensorExpr& x, int axis, Dim start, Dim end) {
  NodeContext& node = x.node();
  return apply("slice", {x},
               {node.integer_list("axes", Integers{axis}), node.dim_list("starts", Dims{start}),
                node.dim_list("ends", Dims{end})});
}

TensorExpr concat(const std::vector<TensorExpr>& parts, int axis) {
  return apply("concat", parts, {parts.front().node().dim("axis", axis)});
}

TensorExpr gather(const TensorExpr& data, const TensorExpr& indices, int axis) {
  return apply("gather", {data, indices}, {data.node().dim("axis", axis)});
}

TensorExpr matmul(const TensorExpr& a, const TensorExpr& b) { return apply("matmul", {a, b}); }

TensorExpr reduce(std::string_view op, const TensorExpr& x, const Integers& axes, bool keeps) {
  if (axes.empty()) return x;
  return apply(op, {x}, {x.node().integer_list("axes", axes), {"keepdims", keeps}});
}

TensorExpr along(const TensorExpr& x, int axis, int rank) {
  NodeContext& node = x.node();
  Dims dims(static_cast<std::size_t>(rank), node.dims().constant(1));
  dims[static_cast<std::size_t>(axis)] = product(node, x.dims());
  return reshape(x, dims);
}

TensorExpr unsqueeze(const TensorExpr& x, int axis) {
  Dims dims = x.dims();
  dims.insert(dims.begin() + axis, x.node().dims().constant(1));
  return reshape(x, dims);
}

TensorExpr range(NodeContext& node, Dim end, DType dtype) {
  return {node,
          node.add("range", {},
                   {{"end", node.builder().resolve(end)}, {"dtype", std::string(name_of(dtype))}})};
}

TensorExpr size(NodeContext& node, Dim dim, DType dtype) {
  const Dim known = node.builder().resolve(dim);
  if (const std::optional<std::int64_t> constant = known.constant()) {
    graph::Builder& builder = node.builder();
    return {node, is_float(dtype) ? builder.number(dtype, static_cast<double>(*constant))
                                  : builder.integer(dtype, *constant)};
  }
  const ValueId one = node.add(
      "range", {}, {{"start", known}, {"end", known + 1}, {"dtype", std::string(name_of(dtype))}});
  return reshape({node, one}, {});
}

TensorExpr constant_expr(NodeContext& node, ConstantTensor tensor, const std::string& name) {
  Operand operand{graph::no_value, std::move(tensor), std::nullopt};
  return {node, name.empty() ? node.value_of(operand) : node.value_of(operand, name)};
}

TensorExpr floats(NodeContext& node, const Integers& dims, const std::vector<float>& elements) {
  return constant_expr(node, DType::f32, dims, elements);
}

TensorExpr integers(NodeContext& node, const Integers& dims, const Integers& elements) {
  return constant_expr(node, DType::i64, dims, elements);
}

TensorExpr numbers(NodeContext& node, DType dtype, const Integers& dims,
                   const std::vector<double>& elements) {
  if (dtype == DType::f64) return constant_expr(node, dtype, dims, elements);
  return floats(node, dims, std::vector<float>(elements.begin(), elements.end()));
}

Dim product(NodeContext& node, const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), node.dims().constant(1), std::multiplies());
}

TensorExpr checked_indices(const TensorExpr& indices, Dim extent) {
  return gather(range(indices.node(), extent), indices, 0);
}

}  // namespace dyn::onnx
