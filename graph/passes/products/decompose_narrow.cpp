#include "graph/passes/products/decompose_narrow.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ops/sliding_window.hpp"
#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/products/fill_groups.hpp"

namespace dyn::graph {
namespace {

/// All integers up to this one are floats.
constexpr std::int64_t exact_floats = 1 << 24;
/// An element of u8 is high * base + low, with both below the base.
constexpr std::int64_t base = 16;
constexpr std::int64_t greatest_byte = 255, greatest_weight = 128;

class NarrowProduct {
 public:
  NarrowProduct(Rewriter& rewriter, const Node& node, const DecomposeOptions& options)
      : rewriter_(rewriter), node_(node), options_(options) {
    rewriter_.begin(node_, node_.op->name);
  }

  void emit() {
    ValueId x = node_.inputs[0];
    std::vector<Attr> attrs = node_.attrs;
    if (is_matmul() && attr_boolean(node_, "transpose_a")) {
      x = emit_turned(rewriter_, x);
      attrs = {{"transpose_b", attr_boolean(node_, "transpose_b")}};
    }
    if (is_bfloat()) return multiply_bfloats(x, attrs);
    if (is_contracted_fresh(x)) {
      emit_product({cast(x, options_.integer_factor), node_.inputs[1]}, attrs);
      return;
    }
    if (type(node_.inputs[1]).dtype == DType::f32) return multiply_numbers(x, attrs);
    if (is_contracted(x)) {
      emit_product({cast(x, options_.integer_factor), node_.inputs[1]}, attrs);
      return;
    }
    if (!is_matmul() && attr_integer(node_, "value") != 0) x = padded(x, attrs);
    const std::int64_t depth = bounds(terms(x)).high;
    const auto fit = [&](std::int64_t greatest) {
      return depth <= exact_floats / (greatest * greatest_weight);
    };
    const bool is_byte = type(x).dtype == DType::u8;
    if (is_byte && fit(greatest_byte)) {
      cast(product(cast(x, DType::f32), DType::f32, attrs), DType::i32, output());
    } else if (is_byte && fit(base - 1)) {
      multiply_digits(x, attrs);
    } else if (is_matmul()) {
      product(cast(x, DType::i32), DType::i32, attrs, output());
    } else {
      fail(depth);
    }
  }

 private:
  const TensorType& type(ValueId id) const { return rewriter_.type(id); }
  ValueId output() const { return node_.outputs[0]; }
  bool is_matmul() const { return node_.op->id == OpId::Matmul; }

  [[noreturn]] void fail(std::int64_t depth) const {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} of {} by {}: sums of {} products are not supported", node_.op->name,
                            name_of(type(node_.inputs[0]).dtype),
                            name_of(type(node_.inputs[1]).dtype), depth));
  }

  /// How many products make a sum.
  Dim terms(ValueId x) const {
    const std::vector<Dim>& filters = type(node_.inputs[1]).dims;
    if (is_matmul()) return type(x).dims.back();
    if (node_.op->id == OpId::WindowMatmul) return filters[filters.size() - 2];
    Dim count = integer(1);
    for (std::size_t i = 0; i + 1 < filters.size(); ++i) count = count * filters[i];
    return count;
  }

  bool is_bfloat() const { return type(node_.inputs[0]).dtype == DType::bf16; }

  void multiply_bfloats(ValueId x, const std::vector<Attr>& attrs) {
    const ValueId w = node_.inputs[1];
    const bool is_fresh = type(w).dtype == DType::bf16;
    if (is_fresh) {
      emit_product({x, w}, attrs, DType::bf16, output());
      return;
    }
    if (options_.multiplies_bfloats && has_groups_of_weight(x))
      emit_product({x, w}, attrs, DType::f32, output());
    else
      emit_product({cast(x, DType::f32), are_codes(w) ? w : cast(cast(w, DType::bf16), DType::f32)},
                   attrs, DType::f32, output());
  }

  /// Integers, less what counts as 0, by f32.
  void multiply_numbers(ValueId x, std::vector<Attr>& attrs) {
    if (is_contracted(x) && multiplies_codes(rewriter_.module(), node_, options_)) {
      emit_product({cast(x, options_.integer_factor), node_.inputs[1]}, attrs, DType::f32,
                   output());
      return;
    }
    if (!is_matmul()) x = padded(x, attrs);
    const auto zero = static_cast<double>(attr_integer(node_, "zero"));
    std::erase_if(attrs, [](const Attr& attr) { return attr.name == "zero"; });
    ValueId number = cast(x, DType::f32);
    if (zero != 0) number = map("sub", number, rewriter_.number(DType::f32, zero));
    emit_product({number, node_.inputs[1]}, attrs, DType::f32, output());
  }

  /// A product of integers by others that are no weight.
  bool is_contracted_fresh(ValueId x) const {
    return options_.integer_factor != DType::f32 && type(node_.inputs[1]).dtype == DType::i8 &&
           has_fresh_groups(x) && reaches_factor(x);
  }

  bool is_contracted(ValueId x) const {
    return options_.integer_factor != DType::f32 && has_groups_of_weight(x) && reaches_factor(x);
  }
  bool reaches_factor(ValueId x) const {
    return type(x).dtype == options_.integer_factor || options_.integer_factor == DType::i16;
  }

  /// A matmul by a value, not a weight, with groups along its sums.
  bool has_fresh_groups(ValueId x) const {
    return is_matmul() && rewriter_.module().value(node_.inputs[1]).kind != ValueKind::Weight &&
           has_groups_along(x);
  }

  /// A weight of the file as it lies, or rows that are filters, by groups along the last axis of x.
  bool has_groups_of_weight(ValueId x) const {
    const Value& w = rewriter_.module().value(node_.inputs[1]);
    const bool is_conv = node_.op->id == OpId::Conv,
               is_one = is_conv ? attr_integer(node_, "groups") == 1 : w.type.rank() == 2;
    const bool is_weight =
        w.kind == ValueKind::Weight || (is_conv && rows_of(node_.inputs[1]) != no_value);
    return is_weight && is_one && has_groups_along(x);
  }
  bool has_groups_along(ValueId x) const {
    return has_groups(node_, type(x).dims.back(), product_group_of(type(x).dtype));
  }

  /// The weight [results, taps..., channels], or [results, taps * channels], of filters [taps...,
  /// channels, results] that it becomes by a transposition: along the sums they lie in one run.
  ValueId rows_of(ValueId filters) const {
    const Node* const turn = producer_of(rewriter_.module(), filters);
    if (turn == nullptr || turn->op->id != OpId::Transpose) return no_value;
    const std::vector<std::int64_t> perm = attr_integers(*turn, "perm");
    for (std::size_t i = 0; i < perm.size(); ++i) {
      if (perm[i] != static_cast<std::int64_t>((i + 1) % perm.size())) return no_value;
    }
    ValueId rows = turn->inputs[0];
    if (const Node* const split = producer_of(rewriter_.module(), rows); split != nullptr) {
      if (split->op->id != OpId::Reshape || type(split->inputs[0]).rank() != 2 ||
          type(split->inputs[0]).dims[0] != type(rows).dims[0])
        return no_value;
      rows = split->inputs[0];
    }
    return rewriter_.module().value(rows).kind == ValueKind::Weight ? rows : no_value;
  }
  /// Codes of 4 bits, which are not rounded.
  bool are_codes(ValueId w) const {
    const ValueId rows = rows_of(w);
    return rewriter_.module().value(rows == no_value ? w : rows).weight.kind ==
           WeightSource::Kind::Blocks;
  }

  ValueId emit_product(std::vector<ValueId> factors, std::vector<Attr> attrs, DType dtype,
                       ValueId to) {
    return rewriter_.emit(node_.op->name, std::move(factors), {dtype, type(output()).dims},
                          std::move(attrs), to);
  }
  void emit_product(std::vector<ValueId> factors, std::vector<Attr> attrs) {
    emit_product(std::move(factors), std::move(attrs), DType::i32, output());
  }

  /// x with the padding of its windows, which are left without; the attributes lose it too.
  ValueId padded(ValueId x, std::vector<Attr>& attrs) {
    TensorType around = type(x);
    std::vector<Dim> before(around.dims.size(), integer(0)), after = before;
    const std::vector<Dim> put_before = attr_dims(rewriter_.module(), node_, "before"),
                           put_after = attr_dims(rewriter_.module(), node_, "after");
    const std::size_t count = std::max(put_before.size(), put_after.size()),
                      first = around.dims.size() - 1 -
                              std::size_t{has_groups(rewriter_.module(), node_)} - count;
    for (std::size_t i = 0; i < count; ++i) {
      if (!put_before.empty()) before[first + i] = put_before[i];
      if (!put_after.empty()) after[first + i] = put_after[i];
      around.dims[first + i] = before[first + i] + around.dims[first + i] + after[first + i];
    }
    std::erase_if(attrs, [](const Attr& attr) {
      return attr.name == "before" || attr.name == "after" || attr.name == "value";
    });
    return rewriter_.emit("pad", {x}, std::move(around),
                          {{"before", before},
                           {"after", after},
                           {"value", static_cast<double>(attr_integer(node_, "value"))}});
  }

  Dim integer(std::int64_t value) const { return rewriter_.module().dims->constant(value); }

  ValueId cast(ValueId x, DType dtype, ValueId to = no_value) {
    if (type(x).dtype == dtype && to == no_value) return x;
    return rewriter_.emit("cast", {x}, {dtype, type(x).dims},
                          {{"dtype", std::string(name_of(dtype))}}, to);
  }

  ValueId map(std::string_view op, ValueId a, ValueId b, ValueId to = no_value) {
    TensorType same = type(a);
    return rewriter_.emit(op, {a, b}, std::move(same), {}, to);
  }

  /// The product of x, which is of `dtype`, by the right side's elements in it.
  ValueId product(ValueId x, DType dtype, const std::vector<Attr>& attrs, ValueId to = no_value) {
    return emit_product({x, cast(node_.inputs[1], dtype)}, attrs, dtype, to);
  }

  void multiply_digits(ValueId x, const std::vector<Attr>& attrs) {
    const ValueId whole = cast(x, DType::i32), size = rewriter_.integer(DType::i32, base);
    const ValueId high = map("div", whole, size);
    const ValueId low = map("sub", whole, map("mul", high, size));
    const auto sums = [&](ValueId digits) {
      return cast(product(cast(digits, DType::f32), DType::f32, attrs), DType::i32);
    };
    map("add", map("mul", sums(high), size), sums(low), output());
  }

  Rewriter& rewriter_;
  const Node& node_;
  const DecomposeOptions& options_;
};

}  // namespace

bool is_narrow_product(const Module& module, const Node& node) {
  const bool is_product =
      node.op->id == OpId::Matmul || node.op->id == OpId::WindowMatmul || node.op->id == OpId::Conv;
  if (!is_product) return false;
  const DType left = module.value(node.inputs[0]).type.dtype;
  return left == DType::bf16 || left != module.value(node.inputs[1]).type.dtype;
}

void decompose_narrow_products(Module& module, const DecomposeOptions& options) {
  const auto is_one = [&](const Node& node) { return is_narrow_product(module, node); };
  if (std::ranges::none_of(module.nodes, is_one)) return;
  Rewriter rewriter(module);
  const std::vector<Node> nodes = module.nodes;
  for (const Node& node : nodes) {
    if (is_one(node))
      NarrowProduct(rewriter, node, options).emit();
    else
      rewriter.keep(node);
  }
  rewriter.finish();
}

}  // namespace dyn::graph
