#include "targets/llvm/problem/expr_compiler.hpp"

namespace dyn::codegen {

using rkernel::Expr;
using rkernel::ExprOp;

ExprCompiler::ExprCompiler(Builder& builder, const rkernel::Problem& problem, Operands& operands,
                           MathOptions options)
    : builder_(builder),
      problem_(problem),
      operands_(operands),
      math_(builder, options),
      varies_(expr_axes(problem, operands.slots(), operands.lane_classes())),
      scopes_(1) {}

void ExprCompiler::set_segmented(bool segmented) {
  segmented_ = segmented;
  operands_.set_segmented(segmented);
}

void ExprCompiler::enter(AxisSet inner, std::span<const int> roots) {
  operands_.enter(inner);
  scopes_.emplace_back();
  std::vector<bool> visited(problem_.exprs.size(), false);
  for (const int root : roots) hoist(root, inner, visited);
}

void ExprCompiler::leave() {
  scopes_.pop_back();
  operands_.leave();
}

void ExprCompiler::hoist(int expr, AxisSet inner, std::vector<bool>& visited) {
  if (visited[static_cast<std::size_t>(expr)] || find(expr) != nullptr) return;
  visited[static_cast<std::size_t>(expr)] = true;
  const Expr& definition = problem_.exprs[static_cast<std::size_t>(expr)];
  const bool leaf = definition.op == ExprOp::Accumulator || definition.op == ExprOp::Index;
  if ((varies(expr) & inner) == 0 && !leaf && !rkernel::is_reduction(definition.op)) {
    // Lanes are made here once, not in every body.
    if (varies_along_lanes(expr) || (inner & axis_bit(problem_.lane_axis)) != 0)
      compile(expr);
    else
      compile_natural(expr);
    return;
  }
  if (rkernel::is_reduction(definition.op)) return;
  if (definition.op == ExprOp::Load && definition.args[0] >= 0 &&
      (varies(definition.args[0]) & inner) == 0 && operands_.width() > 1)
    operands_.prepare_gather(definition.operand, compile_natural(definition.args[0]));
  for (const int arg : definition.args)
    if (arg >= 0) hoist(arg, inner, visited);
}

const ExprCompiler::Entry* ExprCompiler::find(int expr) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(expr); found != scope->end()) return &found->second;
  return nullptr;
}

void ExprCompiler::bind(int expr, llvm::Value* value) {
  if (varies_along_lanes(expr) || width_of(value) == 1)
    scopes_.back()[expr] = Entry{value, nullptr};
  else
    scopes_.back()[expr] = Entry{builder_.CreateExtractElement(value, std::uint64_t{0}), value};
}

void ExprCompiler::bind_accumulators(std::span<llvm::Value* const> values) {
  for (std::size_t expr = 0; expr < problem_.exprs.size(); ++expr)
    if (problem_.exprs[expr].op == ExprOp::Accumulator)
      bind(static_cast<int>(expr), values[static_cast<std::size_t>(problem_.exprs[expr].integer)]);
}

llvm::Value* ExprCompiler::compile_natural(int expr) {
  if (const Entry* entry = find(expr)) return entry->natural;
  llvm::Value* value =
      emit(problem_.exprs[static_cast<std::size_t>(expr)], varies_along_lanes(expr));
  scopes_.back()[expr] = Entry{value, nullptr};
  return value;
}

llvm::Value* ExprCompiler::compile(int expr) {
  const Entry* entry = find(expr);
  if (entry != nullptr && entry->lanes != nullptr) return entry->lanes;
  llvm::Value* natural = compile_natural(expr);
  llvm::Value* lanes = broadcast(builder_, natural, operands_.width());
  scopes_.back()[expr] = Entry{natural, lanes};
  return lanes;
}

bool ExprCompiler::find_choices(int expr, llvm::Value* condition,
                                std::vector<Operands::Choice>& choices) {
  const Expr& definition = problem_.exprs[static_cast<std::size_t>(expr)];
  if (find(expr) != nullptr) return false;
  if (definition.op == ExprOp::Load) {
    if (definition.args[0] >= 0 ||
        !operands_.are_alike(definition.operand,
                             choices.empty() ? definition.operand : choices.front().operand))
      return false;
    choices.push_back({condition, definition.operand});
    return true;
  }
  if (definition.op != ExprOp::Select || varies_along_lanes(definition.args[0])) return false;
  llvm::Value* first = compile_natural(definition.args[0]);
  llvm::Value* both = condition == nullptr ? first : builder_.CreateAnd(condition, first);
  return find_choices(definition.args[1], both, choices) &&
         find_choices(definition.args[2], condition, choices);
}

llvm::Value* ExprCompiler::emit(const Expr& expr, bool lanes) {
  const auto argument = [&](int i) -> llvm::Value* {
    if (expr.args[i] < 0) return nullptr;
    return lanes ? compile(expr.args[i]) : compile_natural(expr.args[i]);
  };
  switch (expr.op) {
    case ExprOp::Constant: return math_.constant(expr.dtype, expr.number, expr.integer);
    case ExprOp::DimValue: {
      const auto position = static_cast<int>(&expr - problem_.exprs.data());
      return math_.cast(DType::i64, expr.dtype,
                        operands_.slot(operands_.slots().dim_value(position)));
    }
    case ExprOp::Index: return math_.cast(DType::i64, expr.dtype, operands_.index(expr.axis));
    case ExprOp::Load: {
      llvm::Value* gather = expr.args[0] < 0 ? nullptr : compile_natural(expr.args[0]);
      if (gather != nullptr)
        gather = math_.cast(problem_.exprs[static_cast<std::size_t>(expr.args[0])].dtype,
                            DType::i64, gather);
      return operands_.load(expr.operand, gather, lanes);
    }
    default: break;
  }
  const auto position = static_cast<int>(&expr - problem_.exprs.data());
  if (std::vector<Operands::Choice> choices; lanes && expr.op == ExprOp::Select &&
                                             operands_.width() > 1 &&
                                             find_choices(position, nullptr, choices))
    return operands_.load_one_of(choices);
  if (segmented_ && is_border(problem_, position))
    return math_.apply(expr.op, DType::i64, DType::boolean, operands_.lane_start(),
                       compile_natural(expr.args[1]));
  const DType dtype =
      problem_.exprs[static_cast<std::size_t>(expr.args[expr.op == ExprOp::Select ? 1 : 0])].dtype;
  // In a fixed order: code does not depend on the compiler that dyn was built with.
  llvm::Value* third = argument(2);
  llvm::Value* second = argument(1);
  llvm::Value* first = argument(0);
  return math_.apply(expr.op, dtype, expr.dtype, first, second, third);
}

/// Stores to narrow operands round: what they store need not be rounded before.
int ExprCompiler::rounded_by_store(const rkernel::Store& store) const {
  const DType dtype = problem_.operands[static_cast<std::size_t>(store.operand)].dtype;
  int expr = store.expr;
  for (;;) {
    const Expr& definition = problem_.exprs[static_cast<std::size_t>(expr)];
    const bool rounds = (definition.op == ExprOp::RoundBf16 && dtype == DType::bf16) ||
                        (definition.op == ExprOp::RoundF16 && dtype == DType::f16);
    if (!rounds || find(expr) != nullptr) return expr;
    expr = definition.args[0];
  }
}

void ExprCompiler::store(const rkernel::Store& store) {
  const std::size_t operand = static_cast<std::size_t>(store.operand);
  const int expr = rounded_by_store(store);
  if (operands_.lane_classes()[operand] != StrideClass::Zero) {
    operands_.store(store.operand, compile(expr));
    return;
  }
  llvm::Value* value = compile_natural(expr);
  if (width_of(value) > 1) value = builder_.CreateExtractElement(value, std::uint64_t{0});
  operands_.store(store.operand, value);
}

}  // namespace dyn::codegen
