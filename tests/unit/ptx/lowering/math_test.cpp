// Every scalar operator of every dtype is code for a GPU, without calls and with the rounding that
// IEEE 754 asks for.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "dyn/error.hpp"
#include "targets/llvm/math/math.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/support/machine_code.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

using namespace dyn;
using namespace dyn::test;
using rkernel::ExprOp;

namespace {

constexpr std::array dtypes = {DType::f32, DType::i32, DType::i64, DType::boolean, DType::u8,
                               DType::i8,  DType::i16, DType::u16, DType::u32,     DType::u64};

struct Case {
  ExprOp op;
  DType from, to;
  std::string name() const {
    return std::string(name_of(op)) + " " + std::string(name_of(from)) + " to " +
           std::string(name_of(to));
  }
};

bool tests(ExprOp op) {
  const std::optional<graph::ScalarOp> scalar = rkernel::scalar_op(op);
  return scalar && graph::info_of(*scalar).has(graph::Tests);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int i = static_cast<int>(ExprOp::Neg); i <= static_cast<int>(ExprOp::Select); ++i) {
    const ExprOp op = static_cast<ExprOp>(i);
    for (const DType from : dtypes) {
      if (op == ExprOp::Cast) {
        for (const DType to : dtypes) cases.push_back({op, from, to});
      } else {
        const bool truth = tests(op) || op == ExprOp::Not;
        cases.push_back({op, from, truth ? DType::boolean : from});
      }
    }
  }
  return cases;
}

/// Loads the argument as operands do, from operand `index`.
llvm::Value* load(const KernelBody& body, DType dtype, int index) {
  llvm::Type* type = codegen::memory_type(body.builder.getContext(), dtype);
  llvm::Value* place =
      body.builder.CreateGEP(type, body.operand(index), ptx::call(body.builder, ptx::Op::Thread));
  llvm::Value* value = body.builder.CreateAlignedLoad(type, place, llvm::Align(size_of(dtype)));
  return dtype == DType::boolean ? body.builder.CreateICmpNE(value, llvm::ConstantInt::get(type, 0))
                                 : value;
}

void store(const KernelBody& body, DType dtype, llvm::Value* value) {
  llvm::Type* type = codegen::memory_type(body.builder.getContext(), dtype);
  if (dtype == DType::boolean) value = body.builder.CreateZExt(value, type);
  llvm::Value* place =
      body.builder.CreateGEP(type, body.operand(0), ptx::call(body.builder, ptx::Op::Thread));
  body.builder.CreateAlignedStore(value, place, llvm::Align(size_of(dtype)));
}

/// out[thread] = op(a[thread], ...). nullptr where there is no such operator on such values.
std::unique_ptr<llvm::Module> module_of(llvm::LLVMContext& context, const Case& test) {
  try {
    return device_kernel(context, [&](const KernelBody& body) {
      codegen::Math math(body.builder, ptx::device_math);
      std::vector<llvm::Value*> arguments(3, nullptr);
      for (int i = 0; i < argument_count(test.op); ++i) {
        const DType dtype = test.op == ExprOp::Select && i == 0 ? DType::boolean : test.from;
        arguments[static_cast<std::size_t>(i)] = load(body, dtype, i + 1);
      }
      store(body, test.to,
            math.apply(test.op, test.from, test.to, arguments[0], arguments[1], arguments[2]));
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) return nullptr;
    throw;
  }
}

/// "" where there is no such operator on such values.
std::string ptx_of(const Case& test) {
  llvm::LLVMContext context;
  const auto module = module_of(context, test);
  return module == nullptr ? "" : ptx::lower_to_ptx(*module);
}

/// Instructions of the kernel but for those that load constants, which loops do once, and those
/// that only fill it up.
int without_constants(const Case& test, const char* gpu) {
  const InstructionTally code = straight_code(ptx_of(test), gpu);
  return code.all() - code["NOP"] - code["MOV"] - code["HFMA2"];
}

bool approximates(const Case& test) {
  const std::optional<graph::ScalarOp> op = rkernel::scalar_op(test.op);
  return op && test.from == DType::f32 &&
         std::ranges::find(ptx::approximate_functions, *op, &codegen::ApproximateFunction::op) !=
             std::end(ptx::approximate_functions);
}

/// Without instructions that ptxas may fuse, or that do not round to nearest; approximations are
/// those of the two device operations alone, and only where the operator is said to have them.
void check_rounding(std::string ptx, bool approximate) {
  int approximations = 0;
  for (const std::string known : {"\tex2.approx.ftz.f32", "\trcp.approx.ftz.f32"})
    for (std::size_t at; (at = ptx.find(known)) != std::string::npos; ++approximations)
      ptx.erase(at, known.size());
  CHECK((approximations > 0) == approximate);
  for (const char* loose :
       {"\tadd.f", "\tsub.f", "\tmul.f", ".approx", ".full", ".ftz", "\tmad.rn.f"})
    CHECK(ptx.find(loose) == std::string::npos);
  for (const char* call : {"call", ".func", "brkpt"}) CHECK(ptx.find(call) == std::string::npos);
}

}  // namespace

TEST_CASE("every operator is code without calls") {
  std::map<DType, int> lowered;
  for (const Case& test : all_cases()) {
    INFO(test.name());
    const std::string ptx = ptx_of(test);
    INFO(ptx);
    if (ptx.empty()) continue;
    ++lowered[test.from];
    check_rounding(ptx, approximates(test));
    if (test.op == ExprOp::Div && test.from == DType::f32)
      CHECK(ptx.find("div.rn.f32") != std::string::npos);
    if (test.op == ExprOp::Sqrt && test.from == DType::f32)
      CHECK(ptx.find("sqrt.rn.f32") != std::string::npos);
    if (test.op == ExprOp::Exp && test.from == DType::f32)
      CHECK(ptx.find("fma.rn.f32") != std::string::npos);
  }
  CHECK(lowered[DType::f32] >= 38);
  CHECK(lowered[DType::i64] >= 20);
  CHECK(lowered[DType::i32] == lowered[DType::i64]);
  CHECK(lowered[DType::boolean] >= 12);
}

TEST_CASE("the intrinsics of device IR are those of the operators, and of counted bits") {
  std::set<unsigned> used;
  const auto add_those_of = [&](const llvm::Module& module) {
    for (const llvm::Function& function : module)
      if (function.isIntrinsic()) used.insert(function.getIntrinsicID());
  };
  for (const Case& test : all_cases()) {
    llvm::LLVMContext context;
    const auto module = module_of(context, test);
    if (module != nullptr) add_those_of(*module);
  }
  llvm::LLVMContext context;
  add_those_of(*device_kernel(context, [](const KernelBody& body) {
    store(body, DType::i32, ptx::ones(body.builder, load(body, DType::i32, 1)));
  }));
  const std::span<const unsigned> allowed = ptx::device_intrinsics();
  CHECK(used == std::set<unsigned>(allowed.begin(), allowed.end()));
}

TEST_SUITE("full") {
  TEST_CASE("every operator assembles for every GPU") {
    if (ptxas_is_missing()) return;
    constexpr int operators = 400, share = 12;
    dyn::testing::Sweep sweep(share);
    int assembled = 0;
    for (const Case& test : all_cases()) {
      const std::string ptx = ptx_of(test);
      if (ptx.empty()) continue;
      for (const char* gpu : ptxas_gpus()) {
        if (!sweep.takes()) continue;
        const Assembled result = assemble(ptx, gpu);
        INFO(test.name() << " for " << gpu << "\n" << ptx << "\n" << result.log);
        CHECK(result.ok);
        CHECK(result.spill_bytes == 0);
        CHECK(result.stack_bytes == 0);
        assembled += result.ok;
      }
    }
    const int of_all = operators * static_cast<int>(ptxas_gpus().size());
    CHECK(assembled >= of_all / (dyn::testing::full_sweeps() ? 1 : share));
    std::printf("note: ptxas assembled %d kernels of one operator\n", assembled);
  }

  TEST_CASE("machine code: costs count the instructions of approximate functions") {
    if (nvdisasm_is_missing()) return;
    dyn::testing::Sweep sweep(static_cast<int>(ptxas_gpus().size()));
    for (const char* gpu : ptxas_gpus()) {
      if (!sweep.takes()) continue;
      const int around = without_constants({ExprOp::Neg, DType::f32, DType::f32}, gpu) - 1;
      for (const codegen::ApproximateFunction& function : ptx::approximate_functions) {
        const Case test{rkernel::expr_op(function.op), DType::f32, DType::f32};
        INFO(test.name() << " for " << gpu);
        CHECK(without_constants(test, gpu) - around == function.instructions);
      }
    }
  }
}
