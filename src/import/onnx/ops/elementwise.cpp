// Operators whose result at an index depends on the operands at that index.

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "graph/ops/scalar_ops.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/before_opset7.hpp"
#include "src/import/onnx/parts/integers/narrowing.hpp"

namespace dyn::onnx {
namespace {

using Fold = std::optional<Dim> (*)(Dim, Dim);

std::optional<Dim> fold_add(Dim a, Dim b) { return a + b; }
std::optional<Dim> fold_sub(Dim a, Dim b) { return a - b; }
std::optional<Dim> fold_mul(Dim a, Dim b) { return a * b; }
std::optional<Dim> fold_min(Dim a, Dim b) { return min(a, b); }
std::optional<Dim> fold_max(Dim a, Dim b) { return max(a, b); }

/// ONNX truncates, dims round down: the results agree where nothing is negative. A divisor of 0 is
/// an error of the run.
std::optional<Dim> fold_div(Dim a, Dim b) {
  if (b.constant() == 0 || graph::bounds(b).low < 0 || graph::bounds(a).low < 0)
    return std::nullopt;
  return floordiv(a, b);
}

std::optional<Dim> fold_mod(Dim a, Dim b) {
  if (graph::bounds(b).low < 1) return std::nullopt;
  return mod(a, b);
}

// Conditions are 0 or 1.
Dim truth(Dim like, std::int64_t value) { return like.table().constant(value); }
std::optional<Dim> fold_equal(Dim a, Dim b) {
  if (const std::optional<bool> known = graph::prove_equal(a, b)) return truth(a, *known ? 1 : 0);
  return truth(a, 1) - min(truth(a, 1), max(a - b, b - a));
}
std::optional<Dim> fold_less(Dim a, Dim b) {
  if (const std::optional<bool> known = graph::prove_less(a, b)) return truth(a, *known ? 1 : 0);
  return min(truth(a, 1), max(truth(a, 0), b - a));
}
std::optional<Dim> fold_less_equal(Dim a, Dim b) {
  if (const std::optional<bool> known = graph::prove_less_equal(a, b))
    return truth(a, *known ? 1 : 0);
  return truth(a, 1) - min(truth(a, 1), max(truth(a, 0), a - b));
}
std::optional<Dim> fold_unlike(Dim a, Dim b) { return max(a - b, b - a); }
std::optional<Dim> fold_greater(Dim a, Dim b) { return fold_less(b, a); }
std::optional<Dim> fold_greater_equal(Dim a, Dim b) { return fold_less_equal(b, a); }

/// An operator on sizes, or on conditions, and the function that computes it.
struct SizeFold {
  graph::ScalarOp op;
  Fold fold;
  bool of_conditions = false;
};
constexpr SizeFold size_folds[] = {{graph::ScalarOp::Add, fold_add},
                                   {graph::ScalarOp::Sub, fold_sub},
                                   {graph::ScalarOp::Mul, fold_mul},
                                   {graph::ScalarOp::Div, fold_div},
                                   {graph::ScalarOp::Max, fold_max},
                                   {graph::ScalarOp::Min, fold_min},
                                   {graph::ScalarOp::Equal, fold_equal},
                                   {graph::ScalarOp::Less, fold_less},
                                   {graph::ScalarOp::LessEqual, fold_less_equal},
                                   {graph::ScalarOp::Greater, fold_greater},
                                   {graph::ScalarOp::GreaterEqual, fold_greater_equal},
                                   {graph::ScalarOp::And, fold_min, true},
                                   {graph::ScalarOp::Or, fold_max, true},
                                   {graph::ScalarOp::NotEqual, fold_unlike, true}};

/// nullptr: no function does.
const SizeFold* fold_of(graph::ScalarOp op) {
  const auto found = std::ranges::find(size_folds, op, &SizeFold::op);
  return found == std::end(size_folds) ? nullptr : found;
}

/// An ONNX operator that equals a scalar operator under another name.
struct Alias {
  std::string_view onnx;
  graph::ScalarOp op;
};
constexpr Alias aliases[] = {{"Sum", graph::ScalarOp::Add}, {"Xor", graph::ScalarOp::NotEqual}};

/// The scalar operator that implements an ONNX operator; the family has no others.
const graph::ScalarOpInfo& same_operator(std::string_view onnx) {
  if (const auto alias = std::ranges::find(aliases, onnx, &Alias::onnx); alias != std::end(aliases))
    return graph::info_of(alias->op);
  return *std::ranges::find(graph::scalar_ops(), onnx, &graph::ScalarOpInfo::onnx);
}

/// Element by element; one element is repeated.
std::optional<KnownInts> fold_elements(const KnownInts& a, const KnownInts& b, DType dtype,
                                       Fold fold) {
  const std::size_t left = a.elements.size(), right = b.elements.size();
  if (left != right && left != 1 && right != 1) return std::nullopt;
  KnownInts result{dtype, a.scalar && b.scalar, {}};
  for (std::size_t i = 0; i < (left == 1 ? right : left); ++i) {
    const std::optional<Dim> element =
        fold(a.elements[left == 1 ? 0 : i], b.elements[right == 1 ? 0 : i]);
    if (!element) return std::nullopt;
    result.elements.push_back(*element);
  }
  return result;
}

/// False where an operand or the result depends on more than sizes.
bool give_folded(NodeContext& node, const SizeFold* fold, bool compares) {
  if (fold == nullptr || node.inputs() != 2) return false;
  const std::optional<KnownInts> a = node.ints(0), b = node.ints(1);
  if (!a || !b || (a->dtype == DType::boolean) != fold->of_conditions) return false;
  std::optional<KnownInts> result =
      fold_elements(*a, *b, compares ? DType::boolean : a->dtype, fold->fold);
  if (!result) return false;
  node.give(*std::move(result));
  return true;
}

bool give_folded_not(NodeContext& node) {
  std::optional<KnownInts> condition = node.ints_of_any_rank(0);
  if (!condition || condition->dtype != DType::boolean) return false;
  for (Dim& element : condition->elements) element = node.dims().constant(1) - element;
  node.give(*std::move(condition));
  return true;
}

void convert_same(NodeContext& node) {
  const graph::ScalarOpInfo& op = same_operator(node.node().op_type());
  if (give_folded(node, fold_of(op.op), op.has(graph::Tests))) return;
  if (op.op == graph::ScalarOp::Not && give_folded_not(node)) return;
  // Add, Sub, Mul and Div have two operands, Max, Min and Sum any number, the first ones one.
  if (node.inputs() == 1 && op.operands == 2) return node.give(node.operand(0));
  ValueId result = node.value(0);
  if (op.operands == 1) result = node.add(op.text, {result});
  for (std::size_t i = 1; i < node.inputs(); ++i)
    result = node.add(op.text, {result, i == 1 ? second_operand(node) : node.value(i)});
  node.give(result);
}

/// The remainder of a after whole multiples of b, with the sign of a. mod is exact where both are
/// positive; div truncates integers by itself.
ValueId truncated_mod(NodeContext& node) {
  const ValueId a = node.value(0), b = node.value(1);
  if (is_float(node.type(0).dtype))
    return node.add("mul", {node.add("sign", {a}),
                            node.add("mod", {node.add("abs", {a}), node.add("abs", {b})})});
  return node.add("sub", {a, node.add("mul", {node.add("div", {a, b}), b})});
}

void convert_mod(NodeContext& node) {
  if (node.integer("fmod", 0) != 0) return node.give(truncated_mod(node));
  constexpr SizeFold fold{graph::ScalarOp::Mod, fold_mod};
  if (!give_folded(node, &fold, false)) node.give(node.add("mod", {node.value(0), node.value(1)}));
}

ValueId cast_to(NodeContext& node, ValueId x, DType dtype) {
  return node.builder().type(x).dtype == dtype
             ? x
             : node.add("cast", {x}, {{"dtype", std::string(name_of(dtype))}});
}

/// ONNX lets the exponent have another dtype. The result has the base's dtype; a power of an
/// integer by a fraction is computed in floats.
void convert_pow(NodeContext& node) {
  const ValueId base = node.value(0), exponent = second_operand(node);
  const DType dtype = node.type(0).dtype;
  const DType computed = !is_float(dtype) && is_float(node.type(1).dtype) ? DType::f64 : dtype;
  node.give(cast_to(
      node, node.add("pow", {cast_to(node, base, computed), cast_to(node, exponent, computed)}),
      dtype));
}

void convert_bit_shift(NodeContext& node) {
  const std::string direction = node.word("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    node.fail(fmt::format("its direction must be LEFT or RIGHT, not \"{}\"", direction));
  node.give(node.add(direction == "LEFT" ? "shift_left" : "shift_right", node.values()));
}

/// Infinities of either sign, or of one alone.
void convert_is_inf(NodeContext& node) {
  const bool negative = node.integer("detect_negative", 1) != 0,
             positive = node.integer("detect_positive", 1) != 0;
  const ValueId x = node.value(0);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (negative && positive)
    return node.give(node.add("equal", {node.add("abs", {x}), node.scalar(infinity, x)}));
  if (negative || positive)
    return node.give(node.add("equal", {x, node.scalar(negative ? -infinity : infinity, x)}));
  const std::vector<Dim> dims = node.type(0).dims;
  node.give(node.add("expand", {node.builder().integer(DType::boolean, 0)},
                     {node.dim_list("shape", dims)}));
}

/// Negates constant integers: axes are counted from the end and then negated, and so are lengths,
/// where the last elements are taken.
void convert_neg(NodeContext& node) {
  std::optional<KnownInts> ints = node.ints(0);
  const auto is_known = [](Dim dim) { return dim.constant().value_or(0) > INT32_MIN; };
  if (!ints || ints->dtype == DType::boolean || !std::ranges::all_of(ints->elements, is_known))
    return node.give(node.add("neg", {node.value(0)}));
  for (Dim& element : ints->elements) element = element * -1;
  node.give(*std::move(ints));
}

void convert_mean(NodeContext& node) {
  ValueId sum = node.value(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) sum = node.add("add", {sum, node.value(i)});
  node.give(node.inputs() == 1
                ? sum
                : node.add("div", {sum, node.scalar(static_cast<double>(node.inputs()), sum)}));
}

/// Chooses among sizes where the condition is known.
bool give_known_choice(NodeContext& node) {
  const std::optional<KnownInts> condition = node.ints(0), yes = node.ints(1), no = node.ints(2);
  if (!condition || !yes || !no) return false;
  const std::size_t count =
      std::max({condition->elements.size(), yes->elements.size(), no->elements.size()});
  KnownInts chosen{yes->dtype, condition->scalar && yes->scalar && no->scalar, {}};
  const auto at = [count](const KnownInts& ints, std::size_t i) -> std::optional<Dim> {
    if (ints.elements.size() == count) return ints.elements[i];
    return ints.elements.size() == 1 ? std::optional(ints.elements[0]) : std::nullopt;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Dim> holds = at(*condition, i), if_so = at(*yes, i), if_not = at(*no, i);
    if (!holds || !holds->constant() || !if_so || !if_not) return false;
    chosen.elements.push_back(*holds->constant() != 0 ? *if_so : *if_not);
  }
  node.give(std::move(chosen));
  return true;
}

void convert_where(NodeContext& node) {
  if (!give_known_choice(node)) node.give(node.add("where", node.values()));
}

/// Converts a short constant of integers to floats: it is a size, on its way to an operator that
/// needs one. False where the input is no such constant.
bool give_constant_floats(NodeContext& node) {
  constexpr std::int64_t most_elements = 64;
  const Tensor* integers = node.constant(0);
  if (integers == nullptr || (integers->dtype != DType::i64 && integers->dtype != DType::i32) ||
      integers->elements() > most_elements)
    return false;
  Tensor floats{DType::f32, integers->dims, {}};
  for (const std::int64_t each : integers_of(*integers)) {
    const auto number = static_cast<float>(each);
    floats.bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  node.give(std::move(floats));
  return true;
}

/// Casts to a narrow float that ONNX saturates or rounds in a direction.
ValueId cast_to_code(NodeContext& node, DType to) {
  const Narrowing narrowing{node.integer("saturate", 1) != 0, node.word("round_mode", "up")};
  return narrowed(input_expr(node, 0), to, narrowing).id();
}

/// Integers that follow from sizes as conditions, and conditions as integers.
bool give_condition_cast(NodeContext& node, DType to) {
  std::optional<KnownInts> ints = node.ints_of_any_rank(0);
  const bool is_counted = to == DType::i64 || to == DType::i32;
  if (!ints || !(to == DType::boolean || (ints->dtype == DType::boolean && is_counted)))
    return false;
  if (to == DType::boolean) {
    const Dim none = node.dims().constant(0), one = node.dims().constant(1);
    for (Dim& element : ints->elements) element = one - *fold_equal(element, none);
  }
  ints->dtype = to;
  node.give(*std::move(ints));
  return true;
}

void give_cast(NodeContext& node, DType to) {
  if (node.type_of(0).dtype == to) return node.give(node.operand(0));
  if (std::optional<KnownInts> ints = node.ints_of_any_rank(0);
      ints && ints->dtype != DType::boolean && (to == DType::i64 || to == DType::i32)) {
    ints->dtype = to;
    return node.give(*std::move(ints));
  }
  if (give_condition_cast(node, to)) return;
  if (to == DType::f32 && give_constant_floats(node)) return;
  if (is_code(to)) return node.give(cast_to_code(node, to));
  node.give(node.add("cast", {node.value(0)}, {{"dtype", std::string(name_of(to))}}));
}

void convert_cast(NodeContext& node) { give_cast(node, node.dtype("to")); }

void convert_cast_like(NodeContext& node) { give_cast(node, node.type_of(1).dtype); }

void convert_bit_cast(NodeContext& node) {
  node.give(
      node.add("bit_cast", {node.value(0)}, {{"dtype", std::string(name_of(node.dtype("to")))}}));
}

}  // namespace

Family elementwise_operators() {
  Family family{{"BitShift", convert_bit_shift},
                {"Neg", convert_neg},
                {"IsInf", convert_is_inf},
                {"Mod", convert_mod},
                {"Pow", convert_pow},
                {"Mean", convert_mean},
                {"Where", convert_where},
                {"BitCast", convert_bit_cast},
                {"Cast", convert_cast},
                {"CastLike", convert_cast_like}};
  for (const graph::ScalarOpInfo& op : graph::scalar_ops())
    if (!op.onnx.empty()) family.push_back({op.onnx, convert_same});
  for (const Alias& alias : aliases) family.push_back({alias.onnx, convert_same});
  return family;
}

}  // namespace dyn::onnx
