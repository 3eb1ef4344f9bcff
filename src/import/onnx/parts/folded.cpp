// Arithmetic on a few floats that the file holds: sizes on their way through a square root or a
// quotient, which would depend on data otherwise.

#include "src/import/onnx/parts/folded.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace dyn::onnx {
namespace {

constexpr std::int64_t most_folded = 64;

/// With one operand, b is unused. In double precision; rounded once to f32, sums, products,
/// quotients and roots equal those of f32 arithmetic.
struct FoldedOperator {
  std::string_view op;
  std::size_t operands;
  double (*compute)(double a, double b);
};
constexpr FoldedOperator folded_operators[] = {
    {"Add", 2, [](double a, double b) { return a + b; }},
    {"Sub", 2, [](double a, double b) { return a - b; }},
    {"Mul", 2, [](double a, double b) { return a * b; }},
    {"Div", 2, [](double a, double b) { return a / b; }},
    {"Pow", 2, [](double a, double b) { return std::pow(a, b); }},
    {"Sqrt", 1, [](double a, double) { return std::sqrt(a); }},
    {"Reciprocal", 1, [](double a, double) { return 1 / a; }},
    {"Neg", 1, [](double a, double) { return -a; }},
    {"Abs", 1, [](double a, double) { return std::abs(a); }},
    {"Floor", 1, [](double a, double) { return std::floor(a); }},
    {"Ceil", 1, [](double a, double) { return std::ceil(a); }},
    {"Round", 1, [](double a, double) { return std::nearbyint(a); }},
    {"Log", 1, [](double a, double) { return std::log(a); }},
    {"Exp", 1, [](double a, double) { return std::exp(a); }},
};

template <class T>
void append(Tensor& tensor, T element) {
  tensor.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
}

/// Does not ask for values of inputs: a float that is not known here is computed when the model
/// runs.
const Tensor* foldable_floats(NodeContext& node, std::size_t input) {
  const Tensor* tensor = node.has(input) ? node.operand(input)->constant.get() : nullptr;
  return tensor != nullptr && tensor->dtype == DType::f32 && tensor->elements() <= most_folded
             ? tensor
             : nullptr;
}

/// The dims of both, or of one where the other has one element; nothing where more elements would
/// be repeated.
std::optional<std::vector<std::int64_t>> joint_dims(const Tensor& a, const Tensor& b) {
  if (a.dims == b.dims) return a.dims;
  if (b.elements() == 1 && b.dims.size() <= a.dims.size()) return a.dims;
  if (a.elements() == 1 && a.dims.size() <= b.dims.size()) return b.dims;
  return std::nullopt;
}

bool give_folded_cast(NodeContext& node) {
  const Tensor* floats = foldable_floats(node, 0);
  const DType to = floats == nullptr ? DType::f32 : node.dtype("to");
  if (to != DType::i64 && to != DType::i32) return false;
  const double limit = to == DType::i64 ? 0x1p63 : 0x1p31;
  Tensor integers{to, floats->dims, {}};
  for (const double each : numbers_of(*floats)) {
    if (!(each >= -limit && each < limit)) return false;
    if (to == DType::i64)
      append(integers, static_cast<std::int64_t>(each));
    else
      append(integers, static_cast<std::int32_t>(each));
  }
  node.give(std::move(integers));
  return true;
}

}  // namespace

bool give_folded_floats(NodeContext& node) {
  if (node.node().op_type() == "Cast") return give_folded_cast(node);
  const auto* const folded = std::ranges::find(
      folded_operators, std::string_view(node.node().op_type()), &FoldedOperator::op);
  if (folded == std::end(folded_operators) || node.inputs() != folded->operands ||
      node.attribute("axis") != nullptr)
    return false;
  const Tensor* a = foldable_floats(node, 0);
  const Tensor* b = a != nullptr && folded->operands == 2 ? foldable_floats(node, 1) : a;
  if (a == nullptr || b == nullptr) return false;
  const auto dims = joint_dims(*a, *b);
  if (!dims) return false;
  const std::vector<double> left = numbers_of(*a), right = numbers_of(*b);
  Tensor result{DType::f32, *dims, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.elements()); ++i)
    append(result, static_cast<float>(folded->compute(left[left.size() == 1 ? 0 : i],
                                                      right[right.size() == 1 ? 0 : i])));
  node.give(std::move(result));
  return true;
}

}  // namespace dyn::onnx
