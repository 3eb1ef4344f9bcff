#include "graph/passes/decompose_integers.hpp"

#include <algorithm>
#include <utility>

namespace dyn::graph {
namespace {

/// All integers up to this one are floats.
constexpr std::int64_t exact_floats = 1 << 24;
/// An element of u8 is high * base + low, with both below the base.
constexpr std::int64_t base = 16;
constexpr std::int64_t greatest_weight = 128;

class IntegerProduct {
 public:
  IntegerProduct(Rewriter& rewriter, const Node& node, const DecomposeOptions& options)
      : rewriter_(rewriter), node_(node), options_(options) {
    rewriter_.begin(node_, node_.op->name);
  }

  void emit() {
    ValueId rows = node_.inputs[0];
    if (attr_boolean(node_, "transpose_a")) rows = transposed(rows);
    if (is_contracted(rows)) return contract(rows);
    const std::int64_t terms = bounds(type(rows).dims.back()).high;
    const auto fit = [&](std::int64_t greatest) {
      return terms <= exact_floats / (greatest * greatest_weight);
    };
    const bool is_byte = type(rows).dtype == DType::u8;
    if (is_byte && fit(255)) {
      cast(product(cast(rows, DType::f32), DType::f32), DType::i32, output());
    } else if (is_byte && fit(base - 1)) {
      multiply_digits(rows);
    } else {
      product(cast(rows, DType::i32), DType::i32, output());
    }
  }

 private:
  const TensorType& type(ValueId id) const { return rewriter_.type(id); }
  ValueId output() const { return node_.outputs[0]; }

  /// A weight of the file as it lies, or turned, with whole groups along K.
  bool is_contracted(ValueId rows) const {
    const Value& b = rewriter_.module().value(node_.inputs[1]);
    const std::optional<std::int64_t> terms = type(rows).dims.back().constant();
    return options_.integer_factor != DType::f32 && b.kind == ValueKind::Weight &&
           b.type.rank() == 2 && terms && *terms % product_group == 0 &&
           (type(rows).dtype == options_.integer_factor || options_.integer_factor == DType::i16);
  }

  void contract(ValueId rows) {
    rewriter_.emit("matmul", {cast(rows, options_.integer_factor), node_.inputs[1]}, type(output()),
                   product_attrs(), output());
  }

  std::vector<Attr> product_attrs() const {
    return {{"transpose_b", attr_boolean(node_, "transpose_b")}};
  }

  ValueId transposed(ValueId x) {
    TensorType swapped = type(x);
    std::vector<Dim> perm;
    for (int axis = 0; axis < swapped.rank(); ++axis) perm.push_back(integer(axis));
    std::iter_swap(perm.end() - 1, perm.end() - 2);
    std::iter_swap(swapped.dims.end() - 1, swapped.dims.end() - 2);
    return rewriter_.emit("transpose", {x}, std::move(swapped), {{"perm", std::move(perm)}});
  }

  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }

  ValueId cast(ValueId x, DType dtype, ValueId to = no_value) {
    if (type(x).dtype == dtype && to == no_value) return x;
    return rewriter_.emit("cast", {x}, {dtype, type(x).dims},
                          {{"dtype", std::string(name_of(dtype))}}, to);
  }

  ValueId map(std::string_view op, ValueId a, ValueId b, ValueId to = no_value) {
    TensorType same = type(a);
    return rewriter_.emit(op, {a, b}, std::move(same), {}, to);
  }

  /// The left side's by the right one's elements, both in `dtype`.
  ValueId product(ValueId rows, DType dtype, ValueId to = no_value) {
    return rewriter_.emit("matmul", {rows, cast(node_.inputs[1], dtype)},
                          {dtype, type(output()).dims}, product_attrs(), to);
  }

  void multiply_digits(ValueId rows) {
    const ValueId whole = cast(rows, DType::i32), size = rewriter_.integer(DType::i32, base);
    const ValueId high = map("div", whole, size);
    const ValueId low = map("sub", whole, map("mul", high, size));
    const auto sums = [&](ValueId digits) {
      return cast(product(cast(digits, DType::f32), DType::f32), DType::i32);
    };
    map("add", map("mul", sums(high), size), sums(low), output());
  }

  Rewriter& rewriter_;
  const Node& node_;
  const DecomposeOptions& options_;
};

}  // namespace

bool is_integer_product(const Module& module, const Node& node) {
  return node.op->id == OpId::Matmul &&
         module.value(node.inputs[0]).type.dtype != module.value(node.inputs[1]).type.dtype;
}

void decompose_integer_products(Module& module, const DecomposeOptions& options) {
  const auto is_one = [&](const Node& node) { return is_integer_product(module, node); };
  if (std::ranges::none_of(module.nodes, is_one)) return;
  Rewriter rewriter(module);
  for (Node& node : module.nodes) {
    if (is_one(node))
      IntegerProduct(rewriter, node, options).emit();
    else
      rewriter.keep(std::move(node));
  }
  rewriter.finish();
}

}  // namespace dyn::graph
