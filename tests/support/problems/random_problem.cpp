#include "tests/support/problems/random_problem.hpp"

#include <algorithm>
#include <utility>

namespace dyn::testing {

using graph::Dim;
using rkernel::AxisKind;
using rkernel::ExprOp;

namespace {

class RandomProblem {
 public:
  RandomProblem(unsigned seed, RandomDtypes dtypes)
      : random_(seed),
        dtypes_(dtypes),
        builder_(std::make_unique<ProblemBuilder>("random " + std::to_string(seed))) {
    make_axes();
    const int operands = between(1, 4);
    for (int i = 0; i < operands; ++i) make_input();
    add(builder_->number(0.75), false);
    const int axis = between(0, axes() - 1);
    add(cast(builder_->index(axis)), reduced(axis));
    const int steps = between(2, 10);
    for (int i = 0; i < steps; ++i) grow();
    const int stores = between(1, 3);
    for (int i = 0; i < stores; ++i) make_output();
  }

  std::unique_ptr<ProblemBuilder> take() { return std::move(builder_); }

 private:
  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  int axes() const { return static_cast<int>(builder_->extents.size()); }
  std::int64_t extent(int axis) const { return builder_->extents[static_cast<std::size_t>(axis)]; }
  bool reduced(int axis) const {
    return builder_->problem.axes[static_cast<std::size_t>(axis)].kind == AxisKind::Reduction;
  }
  int cast(int expr) { return builder_->expr(ExprOp::Cast, {expr}); }
  Dim dim(std::int64_t value) {
    return chance(40) ? builder_->symbol(value) : builder_->constant(value);
  }

  void make_axes() {
    constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 7, 16, 17, 31, 32, 33, 64, 65, 100, 200};
    const int parallel = between(0, 3), reductions = between(parallel == 0 ? 1 : 0, 2);
    std::int64_t total = 1;
    for (int i = 0; i < parallel + reductions; ++i) {
      std::int64_t size = sizes[between(chance(10) ? 0 : 1, 14)];
      if (total * size > 6000) size = between(1, 3);
      total *= size;
      builder_->axis(size, i < parallel ? AxisKind::Parallel : AxisKind::Reduction);
    }
    builder_->problem.lane_axis = chance(70) ? axes() - 1 : between(0, axes() - 1);
  }

  /// Some axes in some order, and a dense layout of them with a gap now and then.
  int make_layout(DType dtype, std::vector<int> order, bool written, std::int64_t inner) {
    std::shuffle(order.begin(), order.end(), random_);
    if (chance(50)) std::sort(order.begin(), order.end());
    std::vector<Dim> strides(static_cast<std::size_t>(axes()), builder_->constant(0));
    std::int64_t stride = inner * (chance(20) ? 2 : 1);
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      strides[static_cast<std::size_t>(*axis)] = dim(stride);
      stride *= extent(*axis);
    }
    return builder_->operand(dtype, std::move(strides), stride, written);
  }

  DType input_dtype() {
    constexpr DType all[] = {DType::f32, DType::f32,  DType::f32, DType::f32,
                             DType::f16, DType::bf16, DType::f64, DType::i8,
                             DType::i16, DType::i32,  DType::i64, DType::u8,
                             DType::u16, DType::u32,  DType::u64, DType::boolean};
    const DType dtype = all[between(0, 15)];
    return dtypes_ == RandomDtypes::Gpu && dtype == DType::f64 ? DType::f32 : dtype;
  }

  void make_input() {
    std::vector<int> order;
    bool varies = false;
    for (int axis = 0; axis < axes(); ++axis)
      if (chance(70)) order.push_back(axis), varies = varies || reduced(axis);
    const DType dtype = input_dtype();
    const bool gathers = chance(20);
    constexpr std::int64_t gather_extent = 5;
    const int operand = make_layout(dtype, order, false, gathers ? gather_extent : 1);
    auto& made = builder_->problem.operands.back();
    int index = -1;
    if (gathers) {
      made.gathers = true;
      made.gather_extent = dim(gather_extent);
      made.gather_stride = dim(1);
    } else if (!order.empty() && chance(25)) {
      const int axis =
          order[static_cast<std::size_t>(between(0, static_cast<int>(order.size()) - 1))];
      const std::int64_t low = extent(axis) / 4, high = extent(axis) - extent(axis) / 3;
      made.guards.push_back(
          rkernel::range_of(axis, chance(30) ? builder_->constant(0) : dim(low), dim(high)));
      // A second index, as windows have it: the guard bounds a sum.
      const int other =
          order[static_cast<std::size_t>(between(0, static_cast<int>(order.size()) - 1))];
      if (other != axis && chance(60)) {
        made.guards.back().terms.push_back({other, chance(50) ? builder_->constant(1) : dim(2)});
        std::ranges::sort(made.guards.back().terms, {}, &graph::CoordTerm::axis);
      }
      made.fill = between(0, 1);
    }
    if (gathers) {
      const bool by_lanes = chance(50);
      index = builder_->load(by_lanes ? make_layout(DType::i64, order, false, 1)
                                      : make_layout(DType::i64, {}, false, 1));
      const int modulus = builder_->integer(gather_extent);
      index = builder_->expr(ExprOp::Mod, {index, modulus}, DType::i64);
      if (chance(50)) index = builder_->expr(ExprOp::Sub, {index, modulus}, DType::i64);
    }
    int value = builder_->load(operand, index);
    if (is_integer(dtype)) value = compute_with_integers(value, dtype, varies);
    if (dtype == DType::f64 && chance(50))
      value = builder_->expr(chance(50) ? ExprOp::Exp : ExprOp::Floor, {value}, dtype);
    if (!is_float(dtype) || dtype == DType::f64) value = cast(value);
    // Rounding of large numbers would show in the terms that they are added to.
    if (is_integer(dtype)) value = builder_->expr(ExprOp::Tanh, {value});
    add(value, varies);
  }

  /// Nothing, or some operators in the integer's own width; may reduce.
  int compute_with_integers(int value, DType dtype, bool& varies) {
    constexpr ExprOp unary[] = {ExprOp::Neg, ExprOp::Abs, ExprOp::Sign, ExprOp::Relu,
                                ExprOp::BitNot};
    constexpr ExprOp binary[] = {
        ExprOp::Add,       ExprOp::Sub,        ExprOp::Mul,    ExprOp::Div,   ExprOp::Mod,
        ExprOp::Max,       ExprOp::Min,        ExprOp::BitAnd, ExprOp::BitOr, ExprOp::BitXor,
        ExprOp::ShiftLeft, ExprOp::ShiftRight, ExprOp::Pow};
    constexpr ExprOp reductions[] = {ExprOp::ReduceSum, ExprOp::ReduceMax, ExprOp::ReduceMin,
                                     ExprOp::ReduceProd};
    for (int steps = between(0, 2); steps > 0; --steps) {
      const int constant =
          builder_->expr(ExprOp::Cast, {builder_->integer(between(-3, 40))}, dtype);
      if (chance(30))
        value = builder_->expr(unary[between(0, 4)], {value}, dtype);
      else if (chance(50))
        value = builder_->expr(binary[between(0, 12)], {value, constant}, dtype);
      else
        value = builder_->expr(binary[between(0, 12)], {constant, value}, dtype);
    }
    if (any_reduction() && chance(30)) {
      value = builder_->expr(reductions[between(0, 3)], {value}, dtype);
      varies = false;
    }
    integers_.push_back({value, dtype, varies});
    return value;
  }

  std::size_t pick() {
    return static_cast<std::size_t>(between(0, static_cast<int>(floats_.size()) - 1));
  }

  void add(int expr, bool varies) {
    floats_.push_back(expr);
    varies_.push_back(varies);
  }

  void grow() {
    const std::size_t a = pick(), b = pick(), c = pick();
    if (any_reduction() && chance(30)) {
      constexpr ExprOp reductions[] = {ExprOp::ReduceSum, ExprOp::ReduceMax, ExprOp::ReduceMin};
      const int result = builder_->expr(reductions[between(0, 2)], {floats_[a]});
      return add(builder_->expr(ExprOp::Tanh, {result}), false);
    }
    if (chance(40)) {
      constexpr ExprOp unary[] = {ExprOp::Tanh, ExprOp::Sigmoid, ExprOp::Erf,
                                  ExprOp::Neg,  ExprOp::Abs,     ExprOp::Relu};
      return add(builder_->expr(unary[between(0, 5)], {floats_[a]}), varies_[a]);
    }
    if (chance(20)) {
      const int axis = between(0, axes() - 1);
      const int limit = builder_->integer(between(0, 40));
      const int condition =
          builder_->expr(ExprOp::Less, {builder_->index(axis), limit}, DType::boolean);
      return add(builder_->expr(ExprOp::Select, {condition, floats_[a], floats_[c]}),
                 varies_[a] || varies_[c] || reduced(axis));
    }
    constexpr ExprOp binary[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Max, ExprOp::Min};
    const int bounded = builder_->expr(ExprOp::Tanh, {floats_[b]});
    add(builder_->expr(binary[between(0, 4)], {floats_[a], bounded}), varies_[a] || varies_[b]);
  }

  void make_output() {
    if (!integers_.empty() && chance(30)) {
      const Integer& chosen =
          integers_[static_cast<std::size_t>(between(0, static_cast<int>(integers_.size()) - 1))];
      return store(chosen.expr, chosen.dtype, chosen.varies);
    }
    const std::size_t chosen = pick();
    const bool wide = dtypes_ == RandomDtypes::All && chance(10);
    const DType dtype = wide         ? DType::f64
                        : chance(80) ? DType::f32
                        : chance(50) ? DType::f16
                                     : DType::bf16;
    store(wide ? builder_->expr(ExprOp::Cast, {floats_[chosen]}, dtype) : floats_[chosen], dtype,
          varies_[chosen]);
  }

  void store(int expr, DType dtype, bool varies) {
    std::vector<int> order;
    for (int axis = 0; axis < axes(); ++axis)
      if (!reduced(axis) || varies) order.push_back(axis);
    builder_->store(expr, make_layout(dtype, order, true, 1));
  }

  bool any_reduction() const {
    return std::ranges::any_of(builder_->problem.axes,
                               [](const auto& axis) { return axis.kind == AxisKind::Reduction; });
  }

  struct Integer {
    int expr;
    DType dtype;
    bool varies;
  };

  std::mt19937 random_;
  RandomDtypes dtypes_;
  std::unique_ptr<ProblemBuilder> builder_;
  std::vector<Integer> integers_;
  std::vector<int> floats_;
  std::vector<bool> varies_;  ///< of floats_: along a reduction axis
};

}  // namespace

std::unique_ptr<ProblemBuilder> random_problem(unsigned seed, RandomDtypes dtypes) {
  return RandomProblem(seed, dtypes).take();
}

}  // namespace dyn::testing
