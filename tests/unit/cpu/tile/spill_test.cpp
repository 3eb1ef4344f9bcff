// Vector registers in the innermost loops of kernels around the main loops (main_loop_test.cpp has
// those): none is spilled there.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <sstream>

#include "graph/fusion/group.hpp"
#include "graph/text/text.hpp"
#include "src/rkernel/problem/lower.hpp"
#include "targets/cpu/loop/kernel.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "tests/support/problems/typical_problems.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::codegen;
using namespace dyn::cpu;
using dyn::rkernel::AxisKind;
using dyn::testing::ProblemBuilder;

namespace {

std::vector<std::string> lines_of(const std::string& assembly) {
  std::istringstream stream(assembly);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lines of each loop without another one or a call inside: from a label to a jump back to it.
std::vector<std::pair<std::size_t, std::size_t>> innermost_loops(
    const std::vector<std::string>& lines) {
  std::map<std::string, std::size_t> labels;
  std::vector<std::pair<std::size_t, std::size_t>> loops;
  std::size_t last_call = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ends_with(":")) labels[lines[i].substr(0, lines[i].size() - 1)] = i;
    if (lines[i].find("\tcall") == 0) last_call = i;
    if (!lines[i].starts_with("\tj")) continue;
    const auto target = labels.find(lines[i].substr(lines[i].rfind('\t') + 1));
    if (target == labels.end() || target->second < last_call) continue;
    if (loops.empty() || target->second > loops.back().second)
      loops.emplace_back(target->second, i);
  }
  return loops;
}

/// Stores of vector registers to the stack in the innermost loops.
int spills(const std::string& assembly) {
  const std::vector<std::string> lines = lines_of(assembly);
  int count = 0;
  for (const auto& [first, last] : innermost_loops(lines)) {
    for (std::size_t i = first; i <= last; ++i) {
      const std::size_t stack = std::min(lines[i].find("(%rsp)"), lines[i].find("(%rbp)"));
      count += stack != std::string::npos && lines[i].find("mm") < stack ? 1 : 0;
    }
  }
  return count;
}

void check_no_spills(const Isa& isa, const std::vector<KernelSource>& sources) {
  Compiler compiler(isa);
  for (const KernelSource& source : sources) {
    CAPTURE(isa.name);
    CAPTURE(source.key);
    CHECK(spills(compiler.assembly(source, "f")) == 0);
  }
}

// With 32 registers only: the constants of exp, tanh and erf, and the parts of four vectors at a
// time, are more than 16.
void check_loops(const char* name, AxisKind columns, void (*body)(ProblemBuilder&)) {
  ProblemBuilder builder(name);
  builder.axis(5);
  builder.axis(100, columns);
  builder.problem.lane_axis = 1;
  body(builder);
  for (const Isa& isa : all_isas()) {
    if (isa.vector_registers < 32) continue;
    const auto draft =
        LoopKernel::draft(builder.problem, isa,
                          std::make_shared<dyn::choice::Machine>(dyn::testing::round_machine()));
    check_no_spills(isa, draft.sources());
  }
}

// Without operands along another axis: a block that is transposed in registers fills half of them,
// and leaves a function too few.
void gelu(ProblemBuilder& b) {
  using dyn::DType;
  using dyn::rkernel::ExprOp;
  const int x = b.dense(DType::f32, {0, 1}), bias = b.dense(DType::f32, {1}),
            scale = b.dense(DType::f32, {0});
  const int out = b.dense(DType::f32, {0, 1}, true);
  const int sum =
      b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {b.load(x), b.load(scale)}), b.load(bias)});
  const int curve = b.expr(ExprOp::Erf, {b.expr(ExprOp::Mul, {sum, b.number(0.70710678)})});
  b.store(b.expr(ExprOp::Mul, {sum, b.expr(ExprOp::Add, {curve, b.number(1)})}), out);
}

}  // namespace

TEST_CASE("spills are seen in the innermost loops, and only there") {
  const std::string body = "\tvmovups\t%ymm1, 32(%rsp)\n", reload = "\tvmovups\t32(%rsp), %ymm1\n",
                    jump = "\tjne\t.L1\n";
  CHECK(spills(".L1:\n" + body + jump) == 1);
  CHECK(spills(".L1:\n" + reload + jump) == 0);
  CHECK(spills(body + ".L1:\n" + jump + body) == 0);
  CHECK(spills(".L0:\n" + body + ".L1:\n" + jump + body + "\tjne\t.L0\n") == 0);
  CHECK(spills(".L1:\n" + body + "\tcallq\t*%rax\n" + jump) == 0);
}

TEST_CASE("no epilogue or move of a contraction spills a vector register in its innermost loops") {
  dyn::testing::Sweep sweep(6);
  for (const Isa& isa : all_isas()) {
    if (!isa.fma) continue;  // SSE2 is there for completeness, not for speed
    for (int bits = 0; bits < 32; ++bits) {
      if (!sweep.takes()) continue;
      const bool transpose = (bits & 1) != 0, packed = (bits & 2) != 0;
      const testing::Case form{.transpose_a = transpose,
                               .transpose_b = transpose,
                               .packed = packed,
                               .bias = (bits & 4) != 0,
                               .residual = (bits & 8) != 0,
                               .relu = (bits & 16) != 0};
      const testing::Built built = testing::build(form);
      const MainLoopTable loops{main_loop_tiles(isa),
                                std::vector<MainLoop>(main_loop_tiles(isa).size())};
      const auto context = std::make_shared<const ContractionContext>(
          isa, dyn::testing::round_machine(), ContractionLoops{loops});
      check_no_spills(isa, ContractionKernel::draft(built.problem, context, 2).sources());
    }
  }
}

/// The most lines that are asked for in an innermost loop with the most multiply-adds.
std::ptrdiff_t asked_lines(std::span<const std::string> assemblies) {
  std::ptrdiff_t most_products = 0, asked = 0;
  for (const std::string& assembly : assemblies) {
    const std::vector<std::string> lines = lines_of(assembly);
    for (const auto& [first, last] : innermost_loops(lines)) {
      const std::span loop(lines.begin() + static_cast<std::ptrdiff_t>(first),
                           lines.begin() + static_cast<std::ptrdiff_t>(last));
      const auto count = [&](std::string_view part) {
        return std::ranges::count_if(
            loop, [&](const std::string& line) { return line.find(part) != std::string::npos; });
      };
      const auto products = count("vfmadd");
      if (products > most_products) asked = 0;
      if (products >= most_products) asked = std::max(asked, count("prefetch"));
      most_products = std::max(most_products, products);
    }
  }
  CHECK(most_products > 0);
  return asked;
}

// Prefetches: in each step of K the lines of B's panel, and the line in which a row ends that may
// lie anywhere; in four steps the lines of four rows of A.
TEST_CASE("steps of K in tiles ask for lines of both operands ahead") {
  constexpr int steps = 4, rows_of_group = 4, line_floats = 16;
  for (const Isa& isa : all_isas()) {
    if (!isa.fma) continue;
    CAPTURE(isa.name);
    for (const bool packed : {true, false}) {
      CAPTURE(packed);
      const testing::Built built = testing::build({.packed = packed, .bias = true});
      const MainLoopTable loops{main_loop_tiles(isa),
                                std::vector<MainLoop>(main_loop_tiles(isa).size())};
      const auto context = std::make_shared<const ContractionContext>(
          isa, dyn::testing::round_machine(), ContractionLoops{loops});
      const auto kernel = ContractionKernel::draft(built.problem, context, 2);
      std::vector<std::string> assemblies;
      for (const KernelSource& source : kernel.sources())
        assemblies.push_back(Compiler(isa).assembly(source, "f"));
      CHECK(asked_lines(assemblies) ==
            steps * (isa.panel_f32 / line_floats + (packed ? 0 : 1)) + rows_of_group);
    }
    // Tiles of other rows are called. Their B may be packed or not.
    const Tile tile{largest_panel_tile(isa).rows - 1, isa.panel_f32};
    const dyn::rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
    const std::string called =
        Compiler(isa).assembly(main_loop_source(isa, register_layer(tile, contraction)), "f");
    CHECK(asked_lines({&called, 1}) == steps * (isa.panel_f32 / line_floats + 1) + rows_of_group);
  }
}

TEST_CASE(
    "no full tile that reads windows in a strip spills a vector register in its innermost loops") {
  for (const std::string epilogue :
       {"conv(x, w) before=[1, 0] after=[1, 0]", "relu(conv(x, w) before=[1, 0] after=[1, 0] + b)",
        "relu(conv(x, w) before=[1, 0] after=[1, 0] + b + r)"}) {
    CAPTURE(epilogue);
    dyn::graph::Module module = dyn::graph::parse(
        std::string(
            "dyn 1\ndim H\nweight w: f32[3, 3, 8, 64] = random 1\nweight b: f32[64] = random 2\n"
            "graph g(x: f32[H, H + 2, 8], r: f32[H, H, 64]) -> (y: f32[H, H, 64]) {\n  y = ") +
        epilogue + "\n  return y\n}\n");
    dyn::graph::decompose(module);
    dyn::graph::simplify(module);
    const dyn::graph::Fusion fusion = dyn::graph::fuse(module);
    std::vector<dyn::rkernel::Problem> problems = dyn::rkernel::lower(module, fusion);
    const auto found = std::ranges::find_if(problems, [](const dyn::rkernel::Problem& problem) {
      return problem.contraction.has_value();
    });
    REQUIRE(found != problems.end());
    found->operands[static_cast<std::size_t>(found->contraction->b)].form =
        dyn::rkernel::Form::Packed;
    for (const Isa& isa : all_isas()) {
      if (!isa.fma) continue;
      CHECK(contraction_forms(*found, isa).front().classes.front().strips);
      const MainLoopTable loops{main_loop_tiles(isa),
                                std::vector<MainLoop>(main_loop_tiles(isa).size())};
      const auto context = std::make_shared<const ContractionContext>(
          isa, dyn::testing::round_machine(), ContractionLoops{loops});
      check_no_spills(isa, ContractionKernel::draft(*found, context, 2).sources());
    }
  }
}

TEST_CASE("no contraction with narrow weights spills a vector register in its innermost loops") {
  dyn::testing::Sweep sweep(5);
  for (const Isa& isa : all_isas()) {
    if (!isa.fma) continue;
    for (const dyn::DType weights : testing::weight_dtypes(isa)) {
      for (int bits = 0; bits < 8; ++bits) {
        if (!sweep.takes()) continue;
        const testing::Case form{.bias = (bits & 1) != 0,
                                 .residual = (bits & 2) != 0,
                                 .relu = (bits & 4) != 0,
                                 .weights = weights};
        const testing::Built built = testing::build(form);
        const MainLoopTable loops{main_loop_tiles(isa),
                                  std::vector<MainLoop>(main_loop_tiles(isa).size())};
        const auto context = std::make_shared<const ContractionContext>(
            isa, dyn::testing::round_machine(), ContractionLoops{loops, {}, {{weights, loops}}});
        check_no_spills(isa, ContractionKernel::draft(built.problem, context, 2).sources());
      }
    }
  }
}

// Any few operations on the sums, bias, residual, factors of rows, and two outputs: full tiles
// inline these.
TEST_CASE("no small epilogue makes full tiles spill") {
  using dyn::rkernel::ExprOp;
  std::mt19937 random(20261121);
  for (int repeat = 0; repeat < dyn::testing::test_rounds(24, 4); ++repeat) {
    testing::Built built = testing::build(
        {.packed = repeat % 2 == 0, .bias = repeat % 3 != 0, .residual = repeat % 4 == 0});
    dyn::rkernel::Problem& problem = built.problem;
    dyn::rkernel::Store& store = problem.stores.front();
    for (int operations = static_cast<int>(random() % 3); operations > 0; --operations) {
      constexpr ExprOp ops[]{ExprOp::Relu, ExprOp::Neg, ExprOp::Abs,
                             ExprOp::Mul,  ExprOp::Max, ExprOp::Sub};
      dyn::rkernel::Expr expr;
      expr.op = ops[random() % std::size(ops)];
      expr.dtype = dyn::DType::f32;
      expr.args[0] = store.expr;
      if (expr.op == ExprOp::Mul || expr.op == ExprOp::Max || expr.op == ExprOp::Sub)
        expr.args[1] = static_cast<int>(random() % static_cast<unsigned>(store.expr + 1));
      problem.exprs.push_back(expr);
      store.expr = static_cast<int>(problem.exprs.size()) - 1;
    }
    for (const Isa& isa : all_isas()) {
      if (!isa.fma) continue;
      const MainLoopTable loops{main_loop_tiles(isa),
                                std::vector<MainLoop>(main_loop_tiles(isa).size())};
      const auto context = std::make_shared<const ContractionContext>(
          isa, dyn::testing::round_machine(), ContractionLoops{loops});
      check_no_spills(isa, ContractionKernel::draft(problem, context, 2).sources());
    }
  }
}

TEST_CASE(
    "no reduction, softmax or element-wise loop spills a vector register in its innermost loops") {
  check_loops("softmax", AxisKind::Reduction, dyn::testing::softmax);
  check_loops("layer_norm", AxisKind::Reduction, dyn::testing::layer_norm);
  check_loops("gelu", AxisKind::Parallel, gelu);
  check_loops("pad", AxisKind::Parallel,
              [](ProblemBuilder& builder) { dyn::testing::pad(builder, 1, dyn::DType::f16); });
  check_loops("totals", AxisKind::Reduction,
              [](ProblemBuilder& builder) { dyn::testing::totals(builder, dyn::DType::f32); });
}
