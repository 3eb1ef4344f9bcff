// The code of a loop kernel follows its tree, and both lowerings take the same code.

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <regex>

#include "dyn/error.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/loop/emitter.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "tests/unit/ptx/loop/cases.hpp"
#include "tests/unit/ptx/loop/emulated_loop.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

std::unique_ptr<dyn::testing::ProblemBuilder> softmax_rows() {
  return build(loop_cases().front(), 3, 1000);
}

std::string hash_of(const ptx::LoopProblem& problem, const ptx::LoopClass& loop_class) {
  llvm::LLVMContext context;
  const codegen::KernelSource source{"test", [&](llvm::Module& module, const std::string& symbol) {
                                       ptx::emit_loop_kernel(module, symbol,
                                                             {{problem, loop_class}});
                                     }};
  return ptx::module_hash(*ptx::emit_device_module(context, source, "kernel"));
}

/// What the cost model says of y = op(x).
double predicted_instructions(rkernel::ExprOp op) {
  dyn::testing::ProblemBuilder b("map");
  b.axis(4096);
  const int x = b.dense(DType::f32, {0});
  b.store(b.expr(op, {b.load(x)}), b.dense(DType::f32, {0}, true));
  const auto kernel =
      ptx::LoopKernel::draft(b.problem, test_gpu(108), "ptx/test").value().without_code();
  const std::string text = kernel->explain({b.values, 1});
  static const std::regex chosen(R"(chosen .*; ([0-9.]+) instructions an element)");
  std::smatch match;
  REQUIRE_MESSAGE(std::regex_search(text, match, chosen), text);
  return std::stod(match[1]);
}

}  // namespace

TEST_CASE("a GPU's loops cost the instructions that its functions take") {
  using graph::ScalarOp;
  const double around = predicted_instructions(rkernel::expr_op(ScalarOp::Log)) -
                        graph::info_of(ScalarOp::Log).instructions;
  for (const codegen::ApproximateFunction& function : ptx::approximate_functions) {
    CAPTURE(graph::info_of(function.op).text);
    CHECK(predicted_instructions(rkernel::expr_op(function.op)) - around ==
          doctest::Approx(function.instructions));
  }
}

TEST_CASE("a tile of the tree decides the code of a loop kernel") {
  const auto builder = softmax_rows();
  const ptx::LoopProblem problem(builder->problem);
  std::vector<ptx::LoopClass> classes = ptx::loop_classes(problem);
  REQUIRE(classes.size() == 6);
  const std::string warp = hash_of(problem, classes[0]), block = hash_of(problem, classes[1]);
  CHECK(warp != block);
  CHECK(hash_of(problem, classes[0]) == warp);
  rkernel::Layer& row = classes[1].tree.layers[1];
  row.loops.back().tile = row.units = 128;
  CHECK(hash_of(problem, classes[1]) != block);
  classes[0].tree.layers[2].units = 4;
  CHECK(hash_of(problem, classes[0]) != warp);
}

TEST_CASE("an illegal tree makes no code") {
  const auto builder = softmax_rows();
  const ptx::LoopProblem problem(builder->problem);
  ptx::LoopClass loop_class = ptx::loop_classes(problem).front();
  loop_class.tree.layers[1].loops.back().kind = rkernel::LoopKind::Parallel;
  CHECK_THROWS_AS(hash_of(problem, loop_class), Error);
}

TEST_CASE("rows that are short for certain have one class") {
  dyn::testing::ProblemBuilder b("short rows");
  b.axis(4);
  b.problem.axes.push_back({"short", b.constant(100), rkernel::AxisKind::Reduction});
  b.extents.push_back(100);
  b.problem.lane_axis = 1;
  const int x = b.dense(DType::f32, {0, 1});
  b.store(b.expr(rkernel::ExprOp::ReduceSum, {b.load(x)}), b.dense(DType::f32, {0}, true));
  CHECK(ptx::loop_classes(ptx::LoopProblem(b.problem)).size() == 1);
  check_emulated(b, test_gpu(108), 1, 1e-5);
}

TEST_CASE("listings are of the code that the emulator runs") {
  const auto builder = softmax_rows();
  const auto kernel =
      ptx::LoopKernel::draft(builder->problem, test_gpu(108), "ptx/test").value().without_code();
  const std::vector<rkernel::CodeListing> listings = kernel->listings();
  ptx::EmulatorOptions options;
  options.machine = test_gpu(108);
  const auto emulator = ptx::make_emulator(options);
  rkernel::CompileReport report;
  const std::vector<const void*> functions = emulator->load(kernel->sources(), 1, report);
  REQUIRE(listings.size() == functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i)
    CHECK(listings[i].hash == emulator->module_hash_of(functions[i]));
  CHECK(listings[0].name == "softmax-kept_rows_of_1_warp_in_vectors_of_4");
  CHECK(listings[1].name == "softmax-kept_rows_of_8_warps_in_vectors_of_4");
  CHECK(listings[1].text.find("barrier.sync") != std::string::npos);
}

TEST_CASE("problems that device code has no dtypes for are left to other targets") {
  dyn::testing::ProblemBuilder b("doubles");
  b.axis(4);
  const int x = b.dense(DType::f64, {0});
  b.store(b.load(x), b.dense(DType::f64, {0}, true));
  CHECK(!ptx::LoopKernel::draft(b.problem, test_gpu(108), "ptx/test").has_value());
}
