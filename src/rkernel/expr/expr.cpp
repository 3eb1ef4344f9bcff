#include "src/rkernel/expr/expr.hpp"

#include <array>

namespace dyn::rkernel {
namespace {

struct Row {
  std::string_view name;
  int arguments;
};

/// In the order of ExprOp.
constexpr std::array rows = {
    Row{"constant", 0}, Row{"dim", 0}, Row{"index", 0}, Row{"load", 0}, Row{"accumulator", 0},
    Row{"neg", 1}, Row{"abs", 1}, Row{"exp", 1}, Row{"log", 1}, Row{"sqrt", 1}, Row{"rsqrt", 1}, Row{"reciprocal", 1},
    Row{"tanh", 1}, Row{"erf", 1}, Row{"sigmoid", 1}, Row{"floor", 1}, Row{"ceil", 1}, Row{"round", 1}, Row{"sin", 1},
    Row{"cos", 1}, Row{"tan", 1}, Row{"asin", 1}, Row{"acos", 1}, Row{"atan", 1}, Row{"sinh", 1}, Row{"cosh", 1}, Row{"asinh", 1}, Row{"acosh", 1},
    Row{"atanh", 1}, Row{"relu", 1}, Row{"sign", 1}, Row{"isnan", 1}, Row{"not", 1}, Row{"bit_not", 1}, Row{"cast", 1},
    Row{"round_f16", 1}, Row{"round_bf16", 1},
    Row{"add", 2}, Row{"sub", 2}, Row{"mul", 2}, Row{"div", 2}, Row{"pow", 2}, Row{"max", 2}, Row{"min", 2}, Row{"mod", 2},
    Row{"and", 2}, Row{"or", 2},
    Row{"bit_and", 2}, Row{"bit_or", 2}, Row{"bit_xor", 2}, Row{"shift_left", 2}, Row{"shift_right", 2},
    Row{"equal", 2}, Row{"not_equal", 2}, Row{"less", 2}, Row{"less_equal", 2},
    Row{"greater", 2}, Row{"greater_equal", 2},
    Row{"select", 3},
    Row{"reduce_sum", 1}, Row{"reduce_max", 1}, Row{"reduce_min", 1}, Row{"reduce_prod", 1}};
static_assert(rows.size() == static_cast<std::size_t>(ExprOp::ReduceProd) + 1);

}  // namespace

std::string_view name_of(ExprOp op) noexcept { return rows[static_cast<std::size_t>(op)].name; }
int argument_count(ExprOp op) noexcept { return rows[static_cast<std::size_t>(op)].arguments; }

}  // namespace dyn::rkernel
