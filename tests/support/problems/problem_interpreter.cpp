#include "tests/support/problems/problem_interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/ops/scalar_values.hpp"
#include "tests/support/half.hpp"
#include "tests/support/problems/expr_interpreter.hpp"

namespace dyn::testing {
namespace {

using rkernel::AxisKind;
using rkernel::Expr;
using rkernel::ExprOp;
using rkernel::Operand;
using rkernel::Problem;
using Indices = std::vector<std::int64_t>;

/// Calls visit() for every index of axes [first, last), writing them to `at`.
void for_each(const Indices& extents, std::size_t first, std::size_t last, Indices& at,
              auto&& visit) {
  if (first == last) return visit();
  for (at[first] = 0; at[first] < extents[first]; ++at[first])
    for_each(extents, first + 1, last, at, visit);
  at[first] = 0;
}

struct BoundGuard {
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  ///< axis and factor
  std::int64_t low, high;
};

struct BoundWindow {
  std::size_t axis;
  std::int64_t count, size, stride, dilation, before, extent, step;
};

struct BoundOperand {
  const Operand* operand = nullptr;
  char* memory = nullptr;
  std::int64_t offset = 0;
  Indices strides;
  std::vector<BoundGuard> guards;
  std::vector<BoundWindow> windows;
  std::size_t k = 0;  ///< the axis whose parts are the windows' taps and the channels
  std::int64_t channels = 1, channel_step = 0;
  std::int64_t gather_extent = 0, gather_stride = 0;

  std::int64_t place(const Indices& at) const {
    std::int64_t result = offset;
    for (std::size_t i = 0; i < strides.size(); ++i) result += at[i] * strides[i];
    if (windows.empty()) return result;
    const Indices places = window_places(at);
    for (std::size_t i = 0; i < windows.size(); ++i) result += places[i] * windows[i].step;
    return result + at[k] % channels * channel_step;
  }
  bool exists(const Indices& at) const {
    for (const BoundGuard& guard : guards) {
      std::int64_t sum = 0;
      for (const auto& [axis, factor] : guard.terms) sum += at[axis] * factor;
      if (sum < guard.low || sum >= guard.high) return false;
    }
    if (windows.empty()) return true;
    const Indices places = window_places(at);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (places[i] < 0 || places[i] >= windows[i].extent) return false;
    }
    return true;
  }
  /// The place along each axis of the tensor.
  Indices window_places(const Indices& at) const {
    Indices left = at, places(windows.size());
    left[k] /= channels;
    for (std::size_t i = windows.size(); i-- > 0;) {
      const BoundWindow& window = windows[i];
      const std::int64_t index = left[window.axis] % window.count, tap = left[k] % window.size;
      left[window.axis] /= window.count;
      left[k] /= window.size;
      places[i] = index * window.stride + tap * window.dilation - window.before;
    }
    return places;
  }
};

Scalar load_element(DType dtype, const char* memory, std::int64_t place) {
  const char* at = memory + place * static_cast<std::int64_t>(size_of(dtype));
  const auto read = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (dtype == DType::f16 || dtype == DType::bf16)
    return {.number = half_value(dtype, read(std::uint16_t{}))};
  Scalar value;
  graph::with_element_type(dtype, [&](auto zero) {
    if constexpr (std::is_floating_point_v<decltype(zero)>)
      value.number = read(zero);
    else if constexpr (std::is_same_v<decltype(zero), bool>)
      value.integer = read(std::uint8_t{}) != 0;
    else
      value.integer = static_cast<std::int64_t>(read(zero));
  });
  return value;
}

void store_element(DType dtype, char* memory, std::int64_t place, Scalar value) {
  char* at = memory + place * static_cast<std::int64_t>(size_of(dtype));
  const auto write = [at](auto element) { std::memcpy(at, &element, sizeof element); };
  if (dtype == DType::f16 || dtype == DType::bf16) return write(half_bits(dtype, value.number));
  graph::with_element_type(dtype, [&](auto zero) {
    if constexpr (std::is_floating_point_v<decltype(zero)>)
      write(static_cast<decltype(zero)>(value.number));
    else
      write(static_cast<decltype(zero)>(value.integer));
  });
}

/// One run of a problem. Each expression has one value for each point of the reduction axes, or a
/// single one where it does not vary along them.
class Run {
 public:
  Run(const Problem& problem, std::span<const std::int64_t> symbols,
      const std::map<graph::ValueId, void*>& buffers)
      : problem_(problem), symbols_(symbols), values_(problem.exprs.size()) {
    for (const auto& axis : problem.axes) {
      extents_.push_back(graph::evaluate(axis.extent, symbols));
      if (axis.kind == AxisKind::Parallel) ++parallel_;
    }
    at_.assign(extents_.size(), 0);
    for (const Operand& operand : problem.operands) operands_.push_back(bind(operand, buffers));
    for (const Expr& expr : problem.exprs) varies_.push_back(varies(expr));
  }

  void operator()() {
    const std::size_t visible = problem_.contraction ? extents_.size() - 1 : parallel_;
    for_each(extents_, 0, visible, at_, [&] {
      accumulators_.clear();
      if (problem_.contraction) contract_all();
      if (problem_.attention) accumulators_.push_back(attend());
      for (std::size_t i = 0; i < problem_.exprs.size(); ++i) evaluate_all(i);
      for (const auto& store : problem_.stores) write(store);
    });
  }

 private:
  BoundOperand bind(const Operand& operand, const std::map<graph::ValueId, void*>& buffers) const {
    BoundOperand bound;
    bound.operand = &operand;
    bound.memory = static_cast<char*>(buffers.at(operand.buffer));
    bound.offset = graph::evaluate(operand.offset, symbols_);
    for (const graph::Dim stride : operand.strides)
      bound.strides.push_back(graph::evaluate(stride, symbols_));
    for (const auto& guard : operand.guards) {
      bound.guards.push_back(
          {{}, graph::evaluate(guard.low, symbols_), graph::evaluate(guard.high, symbols_)});
      for (const auto& term : guard.terms)
        bound.guards.back().terms.emplace_back(term.axis, graph::evaluate(term.factor, symbols_));
    }
    if (operand.window) {
      const auto number = [&](graph::Dim dim) { return graph::evaluate(dim, symbols_); };
      bound.k = static_cast<std::size_t>(problem_.contraction->k);
      bound.channels = number(operand.window->channels);
      bound.channel_step = number(operand.window->channel_step);
      for (const auto& axis : operand.window->axes) {
        bound.windows.push_back({static_cast<std::size_t>(axis.axis), number(axis.count),
                                 number(axis.size), number(axis.stride), number(axis.dilation),
                                 number(axis.before), number(axis.extent), number(axis.step)});
      }
    }
    if (operand.gathers) {
      bound.gather_extent = graph::evaluate(operand.gather_extent, symbols_);
      bound.gather_stride = graph::evaluate(operand.gather_stride, symbols_);
    }
    return bound;
  }

  bool along_reduction(int axis) const { return static_cast<std::size_t>(axis) >= parallel_; }

  bool varies(const Operand& operand) const {
    for (std::size_t i = parallel_; i < operand.strides.size(); ++i) {
      if (operand.strides[i].constant() != 0) return true;
    }
    for (const auto& guard : operand.guards) {
      if (std::ranges::any_of(guard.terms,
                              [this](const auto& term) { return along_reduction(term.axis); }))
        return true;
    }
    return false;
  }

  bool varies(const Expr& expr) const {
    if (problem_.contraction || rkernel::is_reduction(expr.op)) return false;
    if (expr.op == ExprOp::Index) return along_reduction(expr.axis);
    if (expr.op == ExprOp::Load &&
        varies(problem_.operands[static_cast<std::size_t>(expr.operand)]))
      return true;
    for (const int arg : expr.args) {
      if (arg >= 0 && varies_[static_cast<std::size_t>(arg)]) return true;
    }
    return false;
  }

  void contract_all() {
    const auto& contraction = *problem_.contraction;
    const auto k = static_cast<std::size_t>(contraction.k);
    std::vector<double> sums;
    for (const int right_side : contraction.right_sides()) {
      const int value = right_side == contraction.b ? contraction.b_value : -1;
      double sum = 0;
      for (at_[k] = 0; at_[k] < extents_[k]; ++at_[k])
        sum += factor(contraction.a, contraction.a_value) * factor(right_side, value);
      at_[k] = 0;
      sums.push_back(sum);
    }
    accumulators_ = std::move(sums);
  }

  /// An element of a factor: of the operand, where no expression computes it.
  double factor(int operand, int value) {
    const BoundOperand& bound = operands_[static_cast<std::size_t>(operand)];
    if (value < 0 || !bound.exists(at_)) return read(bound).number;
    if (!bound.windows.empty()) return computed_element(bound, value);
    return computed(value);
  }

  /// Of the tensor that windows slide over: an index along k is its channel for all other operands.
  double computed_element(const BoundOperand& image, int value) {
    const auto k = static_cast<std::size_t>(problem_.contraction->k);
    element_ = read(image);
    const std::int64_t channel = at_[k] % image.channels;
    const std::int64_t at_k = std::exchange(at_[k], channel);
    const double result = computed(value);
    at_[k] = at_k;
    element_.reset();
    return result;
  }

  double computed(int value) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(value); ++i) {
      if (problem_.exprs[i].op != ExprOp::Accumulator) evaluate_all(i);
    }
    return values_[static_cast<std::size_t>(value)].at(0).number;
  }

  double attend() {
    const auto& attention = *problem_.attention;
    const auto operand = [&](int i) -> const BoundOperand& {
      return operands_[static_cast<std::size_t>(i)];
    };
    const auto keys = static_cast<std::size_t>(attention.keys),
               d = static_cast<std::size_t>(attention.d);
    const std::int64_t count = extents_[keys], row = at_[static_cast<std::size_t>(attention.m)];
    const std::int64_t ahead = count - extents_[static_cast<std::size_t>(attention.m)];
    const double scale =
        attention.scale != 0 ? attention.scale : 1 / std::sqrt(static_cast<double>(extents_[d]));
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    std::vector<double> scores;
    for (at_[keys] = 0; at_[keys] < count; ++at_[keys]) {
      double score = 0;
      for (at_[d] = 0; at_[d] < extents_[d]; ++at_[d])
        score += read(operand(attention.q)).number * read(operand(attention.k)).number;
      at_[d] = 0;
      score *= scale;
      if (attention.mask >= 0) score += read(operand(attention.mask)).number;
      scores.push_back(attention.causal && at_[keys] > row + ahead ? hidden : score);
    }
    double peak = hidden, total = 0, sum = 0;
    for (const double score : scores) peak = graph::scalar::maximum(peak, score);
    if (peak != hidden) {
      for (const double score : scores) total += std::exp(score - peak);
      for (at_[keys] = 0; at_[keys] < count; ++at_[keys]) {
        sum += std::exp(scores[static_cast<std::size_t>(at_[keys])] - peak) / total *
               read(operand(attention.v)).number;
      }
    }
    at_[keys] = 0;
    return sum;
  }

  Scalar read(const BoundOperand& operand, std::int64_t gathered = 0) const {
    const DType dtype = operand.operand->dtype;
    if (!operand.exists(at_)) {
      return {.number = operand.operand->fill,
              .integer = graph::saturated(dtype, operand.operand->fill)};
    }
    if (operand.operand->gathers) {
      if (gathered < -operand.gather_extent || gathered >= operand.gather_extent) {
        throw Error(ErrorKind::user,
                    "index " + std::to_string(gathered) + " is out of range in " + problem_.name);
      }
      if (gathered < 0) gathered += operand.gather_extent;
    }
    const std::int64_t panel = operand.operand->gather_panel;
    return load_element(
        dtype, operand.memory,
        operand.place(at_) + gathered / panel * operand.gather_stride + gathered % panel);
  }

  void evaluate_all(std::size_t index) {
    const Expr& expr = problem_.exprs[index];
    auto& values = values_[index];
    values.clear();
    if (rkernel::is_reduction(expr.op)) {
      values.push_back(reduce(expr));
    } else if (varies_[index]) {
      for_each(extents_, parallel_, extents_.size(), at_,
               [&] { values.push_back(evaluate_one(expr, values.size())); });
    } else {
      values.push_back(evaluate_one(expr, 0));
    }
  }

  Scalar argument(const Expr& expr, int i, std::size_t point) const {
    const auto arg = static_cast<std::size_t>(expr.args[i]);
    return values_[arg][varies_[arg] ? point : 0];
  }

  Scalar reduce(const Expr& expr) {
    Scalar result = reduction_start(expr);
    std::size_t point = 0;
    for_each(extents_, parallel_, extents_.size(), at_,
             [&] { result = reduction_step(expr, result, argument(expr, 0, point++)); });
    return result;
  }

  Scalar evaluate_one(const Expr& expr, std::size_t point) const {
    switch (expr.op) {
      case ExprOp::Constant: return {.number = expr.number, .integer = expr.integer};
      case ExprOp::DimValue: return {.integer = graph::evaluate(expr.dim, symbols_)};
      case ExprOp::Index: return {.integer = at_[static_cast<std::size_t>(expr.axis)]};
      case ExprOp::Accumulator:
        return {.number = accumulators_.at(static_cast<std::size_t>(expr.integer))};
      case ExprOp::Load: {
        const auto& operand = operands_[static_cast<std::size_t>(expr.operand)];
        if (element_ && !operand.windows.empty()) return *element_;
        return read(operand, operand.operand->gathers ? argument(expr, 0, point).integer : 0);
      }
      default: break;
    }
    Scalar args[3];
    for (int i = 0; i < rkernel::argument_count(expr.op); ++i) args[i] = argument(expr, i, point);
    return apply(expr, problem_.exprs[static_cast<std::size_t>(expr.args[0])].dtype, args);
  }

  void write(const rkernel::Store& store) {
    const auto& operand = operands_[static_cast<std::size_t>(store.operand)];
    const auto expr = static_cast<std::size_t>(store.expr);
    const DType dtype = operand.operand->dtype;
    if (!operand.exists(at_)) return;
    if (problem_.contraction || !varies(*operand.operand)) {
      return store_element(dtype, operand.memory, operand.place(at_), values_[expr].at(0));
    }
    std::size_t point = 0;
    for_each(extents_, parallel_, extents_.size(), at_, [&] {
      store_element(dtype, operand.memory, operand.place(at_),
                    values_[expr][varies_[expr] ? point : 0]);
      ++point;
    });
  }

  const Problem& problem_;
  std::span<const std::int64_t> symbols_;
  Indices extents_, at_;
  std::size_t parallel_ = 0;
  std::vector<BoundOperand> operands_;
  std::vector<bool> varies_;
  std::vector<std::vector<Scalar>> values_;
  std::vector<double> accumulators_;
  std::optional<Scalar> element_;  ///< of the image whose work is being computed
};

}  // namespace

void interpret(const Problem& problem, std::span<const std::int64_t> symbols,
               const std::map<graph::ValueId, void*>& buffers) {
  Run(problem, symbols, buffers)();
}

}  // namespace dyn::testing
