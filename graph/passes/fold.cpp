// Scalars that a module computes from literals alone.

#include <cmath>
#include <optional>
#include <unordered_map>

#include "graph/passes/identities.hpp"
#include "graph/ir/scalars.hpp"

namespace dyn::graph {
namespace {

using FloatFunction = double (*)(double, double);
using IntegerFunction = std::uint64_t (*)(std::uint64_t, std::uint64_t);

const std::unordered_map<std::string_view, FloatFunction> float_functions = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }},
    {"neg", [](double a, double) { return -a; }},
    {"exp", [](double a, double) { return std::exp(a); }},
    {"sqrt", [](double a, double) { return std::sqrt(a); }},
    {"rsqrt", [](double a, double) { return 1 / std::sqrt(a); }},
    {"reciprocal", [](double a, double) { return 1 / a; }},
};

/// Unsigned, because integers wrap around.
const std::unordered_map<std::string_view, IntegerFunction> integer_functions = {
    {"add", [](std::uint64_t a, std::uint64_t b) { return a + b; }},
    {"sub", [](std::uint64_t a, std::uint64_t b) { return a - b; }},
    {"mul", [](std::uint64_t a, std::uint64_t b) { return a * b; }},
    {"neg", [](std::uint64_t a, std::uint64_t) { return 0 - a; }},
};

ValueId fold_cast(Rewriter& rewriter, const Value& from, DType to) {
  // By way of f32 to 16 bits, as kernels go.
  const auto in_dtype = [to](double number) { return rounded(to, is_half(to) ? rounded(DType::f32, number) : number); };
  constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;
  if (is_float(from.type.dtype)) return is_float(to) ? rewriter.number(to, in_dtype(rounded(from.type.dtype, from.constant))) : no_value;
  if (!is_float(to)) return rewriter.integer(to, wrapped(to, static_cast<std::uint64_t>(from.integer)));
  const bool is_exact = from.integer <= exact_in_double && from.integer >= (from.type.dtype == DType::u64 ? 0 : -exact_in_double);
  return is_exact ? rewriter.number(to, in_dtype(static_cast<double>(from.integer))) : no_value;
}

}  // namespace

ValueId fold_constants(Rewriter& rewriter, const Node& node) {
  if (node.op->op_class != OpClass::Elementwise || node.inputs.size() > 2 || node.outputs.size() != 1) return no_value;
  const Module& module = rewriter.module();
  for (const ValueId input : node.inputs) {
    if (module.value(input).kind != ValueKind::Constant) return no_value;
  }
  const Value a = module.value(node.inputs.front()), b = module.value(node.inputs.back());
  const DType dtype = module.value(node.outputs[0]).type.dtype;
  if (node.op->name == "cast") return fold_cast(rewriter, a, dtype);
  if (a.type.dtype != dtype) return no_value;
  if (is_float(dtype)) {
    const auto function = float_functions.find(node.op->name);
    if (function == float_functions.end()) return no_value;
    return rewriter.number(dtype, rounded(dtype, function->second(rounded(dtype, a.constant), rounded(dtype, b.constant))));
  }
  const auto function = integer_functions.find(node.op->name);
  if (function == integer_functions.end() || dtype == DType::boolean) return no_value;
  const std::uint64_t result = function->second(static_cast<std::uint64_t>(a.integer), static_cast<std::uint64_t>(b.integer));
  return rewriter.integer(dtype, wrapped(dtype, result));
}

}  // namespace dyn::graph
