#include "src/rkernel/expr.hpp"

#include <array>

namespace dyn::rkernel {
namespace {

struct OpInfo {
  ExprOp op;
  std::string_view name;
  int arguments;
};

// In the order of the enumeration.
constexpr std::array table = {
    OpInfo{ExprOp::Constant, "constant", 0}, OpInfo{ExprOp::DimValue, "dim", 0}, OpInfo{ExprOp::Index, "index", 0},
    OpInfo{ExprOp::Load, "load", 1}, OpInfo{ExprOp::Accumulator, "accumulator", 0},
    OpInfo{ExprOp::Neg, "neg", 1}, OpInfo{ExprOp::Abs, "abs", 1}, OpInfo{ExprOp::Exp, "exp", 1}, OpInfo{ExprOp::Log, "log", 1},
    OpInfo{ExprOp::Sqrt, "sqrt", 1}, OpInfo{ExprOp::Rsqrt, "rsqrt", 1}, OpInfo{ExprOp::Reciprocal, "reciprocal", 1},
    OpInfo{ExprOp::Tanh, "tanh", 1}, OpInfo{ExprOp::Erf, "erf", 1}, OpInfo{ExprOp::Sigmoid, "sigmoid", 1},
    OpInfo{ExprOp::Floor, "floor", 1}, OpInfo{ExprOp::Ceil, "ceil", 1}, OpInfo{ExprOp::Round, "round", 1}, OpInfo{ExprOp::Sin, "sin", 1},
    OpInfo{ExprOp::Cos, "cos", 1}, OpInfo{ExprOp::Relu, "relu", 1}, OpInfo{ExprOp::Sign, "sign", 1}, OpInfo{ExprOp::IsNan, "isnan", 1},
    OpInfo{ExprOp::Not, "not", 1}, OpInfo{ExprOp::Cast, "cast", 1},
    OpInfo{ExprOp::Add, "add", 2}, OpInfo{ExprOp::Sub, "sub", 2}, OpInfo{ExprOp::Mul, "mul", 2}, OpInfo{ExprOp::Div, "div", 2},
    OpInfo{ExprOp::Pow, "pow", 2}, OpInfo{ExprOp::Max, "max", 2}, OpInfo{ExprOp::Min, "min", 2}, OpInfo{ExprOp::Mod, "mod", 2},
    OpInfo{ExprOp::And, "and", 2}, OpInfo{ExprOp::Or, "or", 2}, OpInfo{ExprOp::Equal, "equal", 2}, OpInfo{ExprOp::NotEqual, "not_equal", 2},
    OpInfo{ExprOp::Less, "less", 2}, OpInfo{ExprOp::LessEqual, "less_equal", 2}, OpInfo{ExprOp::Greater, "greater", 2},
    OpInfo{ExprOp::GreaterEqual, "greater_equal", 2}, OpInfo{ExprOp::Select, "select", 3},
    OpInfo{ExprOp::ReduceSum, "reduce_sum", 1}, OpInfo{ExprOp::ReduceMax, "reduce_max", 1}, OpInfo{ExprOp::ReduceMin, "reduce_min", 1},
    OpInfo{ExprOp::ReduceProd, "reduce_prod", 1}};

constexpr bool is_ordered() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].op) != i) return false;
  }
  return true;
}
static_assert(is_ordered() && table.size() == static_cast<std::size_t>(ExprOp::ReduceProd) + 1);

}  // namespace

std::string_view name_of(ExprOp op) noexcept { return table[static_cast<std::size_t>(op)].name; }
int argument_count(ExprOp op) noexcept { return table[static_cast<std::size_t>(op)].arguments; }

}  // namespace dyn::rkernel
