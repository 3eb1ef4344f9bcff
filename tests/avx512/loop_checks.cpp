// Problems without a contraction, at sizes around the widths of vectors and blocks.

#include <functional>

#include "tests/avx512/loop_check.hpp"
#include "tests/support/problems/random_problem.hpp"
#include "tests/support/problems/typical_problems.hpp"

namespace dyn::avx512_check {
namespace {

using rkernel::AxisKind;
using testing::ProblemBuilder;

constexpr std::int64_t sizes[] = {0, 1, 7, 15, 16, 17, 31, 33, 64, 65, 100, 200};
constexpr double exact = 1e-6, rounded = 1e-5;
constexpr unsigned random_problems = 60;

std::unique_ptr<ProblemBuilder> two_axes(const std::string& name, std::int64_t outer,
                                         AxisKind outer_kind, std::int64_t inner,
                                         AxisKind inner_kind) {
  auto builder = std::make_unique<ProblemBuilder>(name);
  builder->axis(outer, outer_kind);
  builder->axis(inner, inner_kind);
  return builder;
}

/// Three rows of every size, lanes along the columns; a second time with NaN and infinities among
/// the inputs.
std::unique_ptr<Check> at_all_sizes(const std::string& name, const codegen::Isa& isa,
                                    AxisKind columns_kind,
                                    const std::function<void(ProblemBuilder&)>& body) {
  auto check = std::make_unique<LoopCheck>(name, isa);
  unsigned seed = 1;
  for (const std::int64_t columns : sizes) {
    for (const bool specials : {false, true}) {
      auto builder = two_axes(name, 3, AxisKind::Parallel, columns, columns_kind);
      builder->problem.lane_axis = 1;
      body(*builder);
      check->add(std::move(builder), seed++, rounded, specials);
    }
  }
  return check;
}

std::unique_ptr<Check> outer_reductions(const codegen::Isa& isa) {
  auto check = std::make_unique<LoopCheck>("reduction of the outer axis", isa);
  unsigned seed = 1;
  for (const std::int64_t columns : sizes) {
    auto builder = two_axes(check->name(), columns, AxisKind::Parallel, 5, AxisKind::Reduction);
    outer_mean(*builder);
    check->add(std::move(builder), seed++, rounded);
  }
  return check;
}

std::unique_ptr<Check> total_reductions(const codegen::Isa& isa) {
  auto check = std::make_unique<LoopCheck>("sums, maxima and minima of every dtype", isa);
  unsigned seed = 1;
  for (const std::int64_t columns : sizes) {
    for (const DType dtype : {DType::f32, DType::i32, DType::i64}) {
      auto builder = two_axes(check->name(), 2, AxisKind::Reduction, columns, AxisKind::Reduction);
      builder->problem.lane_axis = 1;
      totals(*builder, dtype);
      check->add(std::move(builder), seed++, rounded);
    }
  }
  return check;
}

/// Reductions so long that they are cut in slices, with lanes along a reduced axis and along one
/// that is not.
std::unique_ptr<Check> long_reductions(const codegen::Isa& isa) {
  auto check = std::make_unique<LoopCheck>("reductions in slices", isa);
  for (const DType dtype : {DType::f32, DType::i64}) {
    auto total = two_axes(check->name(), 2, AxisKind::Reduction, 140001, AxisKind::Reduction);
    total->problem.lane_axis = 1;
    totals(*total, dtype);
    check->add(std::move(total), 1, rounded);
    auto sums = two_axes(check->name(), 131, AxisKind::Parallel, 2100, AxisKind::Reduction);
    const int x = sums->load(sums->dense(dtype, {1, 0}));
    sums->problem.exprs[static_cast<std::size_t>(x)].dtype = dtype;
    sums->store(sums->expr(rkernel::ExprOp::ReduceSum, {x}, dtype), sums->dense(dtype, {0}, true));
    check->add(std::move(sums), 2, rounded);
  }
  return check;
}

std::unique_ptr<Check> gathers(const codegen::Isa& isa) {
  auto check = std::make_unique<LoopCheck>("gathers of rows and of elements", isa);
  for (const std::int64_t columns : sizes) {
    auto rows = two_axes("rows", 5, AxisKind::Parallel, columns, AxisKind::Parallel);
    rows->problem.lane_axis = 1;
    const int row_ids = embedding(*rows, 7);
    check->add(std::move(rows), 3, exact, false,
               {{row_ids, testing::bytes_of(std::vector<std::int64_t>{0, 6, -1, -7, 3})}});
    auto elements = std::make_unique<ProblemBuilder>("elements");
    elements->axis(columns);
    const int ids = lookup(*elements, 4);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < positions.size(); ++i)
      positions[i] = static_cast<std::int64_t>(i % 8) - 4;
    check->add(std::move(elements), 3, exact, false, {{ids, testing::bytes_of(positions)}});
  }
  return check;
}

std::unique_ptr<Check> paddings(const codegen::Isa& isa) {
  auto check = std::make_unique<LoopCheck>("padding, transposition, and halves", isa);
  unsigned seed = 1;
  for (const std::int64_t columns : sizes) {
    for (const int guarded : {0, 1}) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        auto builder = two_axes("pad", 6, AxisKind::Parallel, columns, AxisKind::Parallel);
        builder->problem.lane_axis = 1;
        pad(*builder, guarded, dtype);
        check->add(std::move(builder), seed++, exact);
      }
    }
  }
  return check;
}

std::unique_ptr<Check> random_checks(const codegen::Isa& isa, std::uint64_t seed) {
  auto check = std::make_unique<LoopCheck>("random problems", isa);
  for (unsigned i = 0; i < random_problems; ++i) {
    const auto own_seed = static_cast<unsigned>(seed) + i;
    check->add(testing::random_problem(own_seed), own_seed, 1e-4, i % 4 == 0);
  }
  return check;
}

}  // namespace

void add_loop_checks(Checks& checks, const codegen::Isa& isa, std::uint64_t seed) {
  checks.push_back(at_all_sizes("softmax", isa, AxisKind::Reduction, testing::softmax));
  checks.push_back(at_all_sizes("layer norm", isa, AxisKind::Reduction, testing::layer_norm));
  checks.push_back(at_all_sizes("element-wise, broadcasts, two orders of elements", isa,
                                AxisKind::Parallel, testing::element_wise));
  checks.push_back(outer_reductions(isa));
  checks.push_back(total_reductions(isa));
  checks.push_back(long_reductions(isa));
  checks.push_back(gathers(isa));
  checks.push_back(paddings(isa));
  checks.push_back(random_checks(isa, seed));
}

}  // namespace dyn::avx512_check
