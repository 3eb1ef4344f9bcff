#include "src/import/onnx/parts/tensor_expr.hpp"

#include <functional>
#include <numeric>

namespace dyn::onnx {
namespace {

template <class Element>
Term constant(NodeContext& node, DType dtype, const Integers& dims,
              const std::vector<Element>& elements) {
  Tensor tensor{dtype, dims, {}};
  tensor.bytes.assign(reinterpret_cast<const char*>(elements.data()),
                      elements.size() * sizeof(Element));
  Operand operand{graph::no_value, std::make_shared<const Tensor>(std::move(tensor)), std::nullopt};
  return {node, node.value_of(operand)};
}

/// With what symbols have been replaced by since the dims were asked for.
void resolve(NodeContext& node, graph::Attr& attr) {
  auto* dims = std::get_if<Dims>(&attr.value);
  if (dims == nullptr) return;
  for (Dim& dim : *dims) dim = node.builder().resolve(dim);
}

}  // namespace

Term term(NodeContext& node, std::size_t input) { return {node, node.value(input)}; }

Term apply(std::string_view op, const std::vector<Term>& arguments,
           std::vector<graph::Attr> attrs) {
  std::vector<ValueId> ids;
  for (const Term& each : arguments) ids.push_back(each.id());
  NodeContext& node = arguments.front().node();
  for (graph::Attr& attr : attrs) resolve(node, attr);
  return {node, node.add(op, std::move(ids), std::move(attrs))};
}

Term operator+(const Term& a, const Term& b) { return apply("add", {a, b}); }
Term operator-(const Term& a, const Term& b) { return apply("sub", {a, b}); }
Term operator*(const Term& a, const Term& b) { return apply("mul", {a, b}); }
Term operator/(const Term& a, const Term& b) { return apply("div", {a, b}); }
Term operator-(const Term& a) { return apply("neg", {a}); }
Term operator+(const Term& a, double b) { return a + a.scalar(b); }
Term operator-(const Term& a, double b) { return a - a.scalar(b); }
Term operator*(const Term& a, double b) { return a * a.scalar(b); }
Term operator/(const Term& a, double b) { return a / a.scalar(b); }
Term operator+(double a, const Term& b) { return b.scalar(a) + b; }
Term operator-(double a, const Term& b) { return b.scalar(a) - b; }
Term operator*(double a, const Term& b) { return b.scalar(a) * b; }
Term operator/(double a, const Term& b) { return b.scalar(a) / b; }

Term abs(const Term& x) { return apply("abs", {x}); }
Term floor(const Term& x) { return apply("floor", {x}); }
Term ceil(const Term& x) { return apply("ceil", {x}); }
Term round(const Term& x) { return apply("round", {x}); }
Term sqrt(const Term& x) { return apply("sqrt", {x}); }
Term exp(const Term& x) { return apply("exp", {x}); }
Term log(const Term& x) { return apply("log", {x}); }
Term sin(const Term& x) { return apply("sin", {x}); }
Term cos(const Term& x) { return apply("cos", {x}); }
Term pow(const Term& x, double exponent) { return apply("pow", {x, x.scalar(exponent)}); }
Term mod(const Term& a, const Term& b) { return apply("mod", {a, b}); }
Term minimum(const Term& a, const Term& b) { return apply("minimum", {a, b}); }
Term maximum(const Term& a, const Term& b) { return apply("maximum", {a, b}); }
Term minimum(const Term& a, double b) { return minimum(a, a.scalar(b)); }
Term maximum(const Term& a, double b) { return maximum(a, a.scalar(b)); }

Term equal(const Term& a, const Term& b) { return apply("equal", {a, b}); }
Term equal(const Term& a, double b) { return equal(a, a.scalar(b)); }
Term less(const Term& a, const Term& b) { return apply("less", {a, b}); }
Term less(const Term& a, double b) { return less(a, a.scalar(b)); }
Term less_equal(const Term& a, const Term& b) { return apply("less_equal", {a, b}); }
Term less_equal(const Term& a, double b) { return less_equal(a, a.scalar(b)); }
Term both(const Term& a, const Term& b) { return apply("logical_and", {a, b}); }
Term either(const Term& a, const Term& b) { return apply("logical_or", {a, b}); }
Term negated(const Term& a) { return apply("logical_not", {a}); }
Term where(const Term& condition, const Term& a, const Term& b) {
  return apply("where", {condition, a, b});
}
Term where(const Term& condition, const Term& a, double b) {
  return where(condition, a, a.scalar(b));
}
Term where(const Term& condition, double a, const Term& b) {
  return where(condition, b.scalar(a), b);
}

Term cast(const Term& x, DType dtype) {
  return x.dtype() == dtype ? x : apply("cast", {x}, {{"dtype", std::string(name_of(dtype))}});
}

Term reshape(const Term& x, const Dims& dims) {
  return apply("reshape", {x}, {x.node().dim_list("shape", dims)});
}

Term expand(const Term& x, const Dims& dims) {
  return apply("expand", {x}, {x.node().dim_list("shape", dims)});
}

Term transpose(const Term& x, const Integers& perm) {
  return apply("transpose", {x}, {x.node().integer_list("perm", perm)});
}

Term slice(const Term& x, int axis, Dim start, Dim end) {
  NodeContext& node = x.node();
  return apply("slice", {x},
               {node.integer_list("axes", Integers{axis}), node.dim_list("starts", Dims{start}),
                node.dim_list("ends", Dims{end})});
}

Term concat(const std::vector<Term>& parts, int axis) {
  return apply("concat", parts, {parts.front().node().dim("axis", axis)});
}

Term gather(const Term& data, const Term& indices, int axis) {
  return apply("gather", {data, indices}, {data.node().dim("axis", axis)});
}

Term matmul(const Term& a, const Term& b) { return apply("matmul", {a, b}); }

Term reduce(std::string_view op, const Term& x, const Integers& axes, bool keeps) {
  if (axes.empty()) return x;
  return apply(op, {x}, {x.node().integer_list("axes", axes), {"keepdims", keeps}});
}

Term along(const Term& x, int axis, int rank) {
  NodeContext& node = x.node();
  Dims dims(static_cast<std::size_t>(rank), node.dims().constant(1));
  dims[static_cast<std::size_t>(axis)] = product(node, x.dims());
  return reshape(x, dims);
}

Term unsqueeze(const Term& x, int axis) {
  Dims dims = x.dims();
  dims.insert(dims.begin() + axis, x.node().dims().constant(1));
  return reshape(x, dims);
}

Term range(NodeContext& node, Dim end, DType dtype) {
  return {node,
          node.add("range", {},
                   {{"end", node.builder().resolve(end)}, {"dtype", std::string(name_of(dtype))}})};
}

Term size(NodeContext& node, Dim dim, DType dtype) {
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

Term floats(NodeContext& node, const Integers& dims, const std::vector<float>& elements) {
  return constant(node, DType::f32, dims, elements);
}

Term integers(NodeContext& node, const Integers& dims, const Integers& elements) {
  return constant(node, DType::i64, dims, elements);
}

Dim product(NodeContext& node, const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), node.dims().constant(1), std::multiplies());
}

Term checked_indices(const Term& indices, Dim extent) {
  return gather(range(indices.node(), extent), indices, 0);
}

}  // namespace dyn::onnx
