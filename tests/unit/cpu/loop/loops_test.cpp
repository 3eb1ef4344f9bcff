// Loop kernels as models have them: softmax, layer norm, gathers, padding, reductions, at awkward
// sizes.

#include <doctest/doctest.h>

#include "tests/support/problems/typical_problems.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/unit/cpu/loop/fixture.hpp"

using namespace dyn::testing;
using dyn::DType;
using dyn::rkernel::AxisKind;
using dyn::rkernel::ExprOp;

namespace {

constexpr std::int64_t sizes[] = {0,  1,  2,  3,  7,  8,  15,  16,  17, 31,
                                  32, 33, 37, 63, 64, 65, 127, 129, 500};

template <class Body>
void at_all_sizes(const char* name, AxisKind column_kind, const Body& body) {
  unsigned seed = 1;
  for (const std::int64_t columns : sizes)
    for (const std::int64_t rows : {0, 1, 5}) {
      ProblemBuilder b(name);
      b.axis(rows);
      b.axis(columns, column_kind);
      b.problem.lane_axis = 1;
      body(b);
      check_problem(b, seed, 1e-5);
      check_problem(b, seed++, 1e-5, true);
    }
}

}  // namespace

TEST_CASE("softmax") { at_all_sizes("softmax", AxisKind::Reduction, softmax); }

TEST_CASE("layer norm") { at_all_sizes("layer_norm", AxisKind::Reduction, layer_norm); }

TEST_CASE("element-wise with broadcasts along rows and lanes") {
  at_all_sizes("element-wise", AxisKind::Parallel, element_wise);
}

TEST_CASE("reduction of the outer axis with lanes along the inner one") {
  unsigned seed = 1;
  for (const std::int64_t columns : sizes)
    for (const std::int64_t rows : {0, 1, 5, 40}) {
      ProblemBuilder b("outer mean");
      b.axis(columns);
      b.axis(rows, AxisKind::Reduction);
      outer_mean(b);
      check_problem(b, seed, 1e-5);
      check_problem(b, seed++, 1e-5, true);
    }
}

TEST_CASE("all reductions of all dtypes, several axes, nothing parallel") {
  unsigned seed = 1;
  for (const std::int64_t inner : sizes)
    for (const std::int64_t outer : {0, 1, 3})
      for (const DType dtype : {DType::f32, DType::i32, DType::i64}) {
        ProblemBuilder b("total");
        b.axis(outer, AxisKind::Reduction);
        b.axis(inner, AxisKind::Reduction);
        b.problem.lane_axis = 1;
        totals(b, dtype);
        check_problem(b, seed++, 1e-5);
      }
}

TEST_CASE("gather of rows, by an index that is uniform along the lanes") {
  for (const std::int64_t columns : sizes) {
    ProblemBuilder b("embedding");
    b.axis(5);
    b.axis(columns);
    b.problem.lane_axis = 1;
    const int ids = embedding(b, 7);
    check_problem(b, 3, 1e-6, false, {{ids, bytes_of(std::vector<std::int64_t>{0, 6, -1, -7, 3})}});

    for (const std::int64_t bad : {std::int64_t{7}, std::int64_t{-8}, std::int64_t{1} << 62}) {
      std::vector<std::vector<std::uint8_t>> initial = {
          bytes_of(std::vector<std::int64_t>{0, 6, bad, -7, 3}),
          std::vector<std::uint8_t>(static_cast<std::size_t>(7 * columns) * 4),
          std::vector<std::uint8_t>(static_cast<std::size_t>(5 * columns) * 4)};
      for (const auto& isa : dyn::codegen::all_isas())
        if (dyn::codegen::cpu_has(isa) && columns > 0)
          CHECK(run_loop_kernel(b, isa, initial).status == 1);
    }
  }
}

TEST_CASE("gather along the lanes, also from a table without rows") {
  for (const std::int64_t count : sizes)
    for (const std::int64_t extent : {0, 4}) {
      ProblemBuilder b("lookup");
      b.axis(count);
      const int ids = lookup(b, extent);
      std::vector<std::int64_t> good(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < good.size(); ++i) good[i] = static_cast<std::int64_t>(i % 8) - 4;
      if (extent > 0) {
        check_problem(b, 3, 1e-6, false, {{ids, bytes_of(good)}});
        if (count > 0) good.back() = extent;
      }
      std::vector<std::vector<std::uint8_t>> initial = {
          bytes_of(good), std::vector<std::uint8_t>(static_cast<std::size_t>(extent) * 4),
          std::vector<std::uint8_t>(static_cast<std::size_t>(count) * 4)};
      for (const auto& isa : dyn::codegen::all_isas())
        if (dyn::codegen::cpu_has(isa))
          CHECK(run_loop_kernel(b, isa, initial).status == (count > 0 ? 1 : 0));
    }
}

TEST_CASE("padding and concatenation read nothing outside their guards") {
  unsigned seed = 1;
  for (const std::int64_t columns : sizes)
    for (const int guarded : {0, 1})
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        ProblemBuilder b("pad");
        b.axis(6);
        b.axis(columns);
        b.problem.lane_axis = 1;
        pad(b, guarded, dtype);
        check_problem(b, seed++, 1e-6);
      }
}

TEST_CASE("layer norms of one structure share one class, whatever their names and sizes") {
  const auto sources = [](std::int64_t columns, const char* name) {
    ProblemBuilder b(name);
    b.axis(2);
    b.axis(columns, AxisKind::Reduction);
    b.problem.lane_axis = 1;
    layer_norm(b);
    return dyn::cpu::LoopKernel::draft(b.problem, dyn::codegen::all_isas().back(),
                                       std::make_shared<dyn::choice::Machine>(round_machine()))
        .sources();
  };
  const auto a = sources(768, "first"), c = sources(72, "second");
  REQUIRE(a.size() == c.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].key == c[i].key);
}
