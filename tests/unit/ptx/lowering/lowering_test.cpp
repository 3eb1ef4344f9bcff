#include "targets/ptx/lowering/ptx_lowering.hpp"

#include <doctest/doctest.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <thread>

#include "tests/support/count.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

using namespace dyn;
using namespace dyn::test;
using codegen::Builder;
using dyn::testing::count;

namespace {

std::string ptx_of(const std::function<void(const KernelBody&)>& body) {
  llvm::LLVMContext context;
  return ptx::lower_to_ptx(*device_kernel(context, body));
}

/// A kernel with a barrier, a shuffle, constants and branches.
std::unique_ptr<llvm::Module> sample(llvm::LLVMContext& context, int threads = 64) {
  return device_kernel(
      context,
      [](const KernelBody& body) {
        Builder& builder = body.builder;
        llvm::Value* thread = ptx::call(builder, ptx::Op::Thread);
        llvm::Value* shared =
            builder.CreateGEP(builder.getInt32Ty(), ptx::call(builder, ptx::Op::Shared), thread);
        builder.CreateStore(thread, shared);
        ptx::call(builder, ptx::Op::Barrier);
        llvm::Value* value = builder.CreateLoad(builder.getInt32Ty(), shared, "value");
        value = ptx::call(
            builder, ptx::Op::ShuffleBfly,
            {value, builder.getInt32(1), builder.getInt32(31), builder.getInt32(0xffffffff)});
        builder.CreateStore(value, body.operand(0));
      },
      threads);
}

}  // namespace

TEST_CASE("the data layout is the back end's") {
  llvm::LLVMContext context;
  const auto module = ptx::make_device_module(context, "empty");
  ptx::lower_to_ptx(*sample(context));  // initialises the back end
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module->getTargetTriple(), error);
  REQUIRE_MESSAGE(target != nullptr, error);
  const std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      module->getTargetTriple(), ptx::ptx_cpu, ptx::ptx_features, {}, std::nullopt));
  CHECK(module->getDataLayoutStr() == machine->createDataLayout().getStringRepresentation());
}

TEST_CASE("the same kernel has the same hash") {
  llvm::LLVMContext one, two;
  const auto module = sample(one);
  const std::string hash = ptx::module_hash(*module);
  CHECK(hash.size() == 16);
  CHECK(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(ptx::module_hash(*sample(two)) == hash);

  const auto parsed = ptx::parse_device_module(two, ptx::module_text(*module));
  CHECK(ptx::module_text(*parsed) != "");
  CHECK(ptx::module_hash(*parsed) == hash);

  // The hash covers what the module does, but not its names.
  parsed->setModuleIdentifier("renamed");
  parsed->setSourceFileName("elsewhere");
  parsed->getFunction("kernel")->setName("another");
  CHECK(ptx::module_hash(*parsed) == hash);
  CHECK(ptx::module_hash(*sample(two, 128)) != hash);
  CHECK(ptx::module_hash(*kernel_of(two, ptx::device_ops()[0])) != hash);

  std::string lowered;
  ptx::lower_to_ptx(*module, &lowered);
  CHECK(lowered == hash);
  CHECK(ptx::module_hash(*module) == hash);  // lowering does not change it
}

TEST_CASE("text that is no module is refused") {
  llvm::LLVMContext context;
  const std::string error = internal_error(
      [&] { ptx::parse_device_module(context, "define void @kernel() {\n  retur void\n}\n"); });
  CHECK(error.find("device IR, line 2") != std::string::npos);
}

TEST_CASE("a module that breaks the rules is not lowered, and says where it came from") {
  llvm::LLVMContext context;
  const codegen::KernelSource source{"the key",
                                     [](llvm::Module& module, const std::string& symbol) {
                                       Builder builder(module.getContext());
                                       ptx::create_kernel(builder, module, symbol, 32, 0);
                                       builder.CreateAlloca(builder.getInt32Ty());
                                       builder.CreateRetVoid();
                                     }};
  CHECK(internal_error([&] {
          ptx::emit_device_module(context, source, "kernel");
        }).find("generating the key") != std::string::npos);
  const auto module = device_kernel(
      context, [](const KernelBody& body) { body.kernel->removeFnAttr("dyn.threads"); });
  CHECK(internal_error([&] { ptx::lower_to_ptx(*module); }) != "");
}

TEST_CASE("the PTX is an entry for compute capability 8.0 with so many threads") {
  llvm::LLVMContext context;
  const std::string text = ptx::lower_to_ptx(*sample(context, 96));
  INFO(text);
  CHECK(count(text, ".version 7.1\n") == 1);
  CHECK(count(text, ".target sm_80\n") == 1);
  CHECK(count(text, ".visible .entry kernel(") == 1);
  CHECK(count(text, ".reqntid 96, 1, 1") == 1);
  CHECK(count(text, "barrier.sync") == 1);
}

TEST_CASE("accesses name their memory") {
  const std::string text = ptx_of([](const KernelBody& body) {
    Builder& builder = body.builder;
    auto* four = llvm::FixedVectorType::get(builder.getFloatTy(), 4);
    llvm::Value* shared = ptx::call(builder, ptx::Op::Shared);
    llvm::Value* global = body.operand(0);
    builder.CreateAlignedStore(builder.CreateAlignedLoad(four, global, llvm::Align(16)), shared,
                               llvm::Align(16));
    ptx::call(builder, ptx::Op::Barrier);
    builder.CreateAlignedStore(builder.CreateAlignedLoad(four, shared, llvm::Align(16)), global,
                               llvm::Align(16));
    llvm::Value* flag = builder.CreateICmpNE(
        builder.CreateLoad(builder.getInt8Ty(), body.operand(1)), builder.getInt8(0));
    llvm::Value* place = builder.CreateSelect(flag, body.operand(2), body.kernel->getArg(1));
    builder.CreateStore(builder.CreateLoad(builder.getInt64Ty(), place), body.operand(3));
    builder.CreateAlignedStore(builder.getInt32(1), body.kernel->getArg(2), llvm::Align(4))
        ->setAtomic(llvm::AtomicOrdering::Monotonic);
  });
  INFO(text);
  CHECK(count(text, "ld.global.v4.f32") == 1);
  CHECK(count(text, "st.shared.v4.f32") == 1);
  CHECK(count(text, "ld.shared.v4.f32") == 1);
  CHECK(count(text, "st.global.v4.f32") == 1);
  CHECK(count(text, "ld.global.u8") == 1);
  CHECK(count(text, "ld.global.nc.u64") >= 4);  // the table of operands
  CHECK(count(text, "\tst.volatile.global.u32") + count(text, "\tst.relaxed.sys.global.u32") == 1);
  for (const char* generic :
       {"\tld.u", "\tld.f", "\tld.v", "\tst.u", "\tst.f", "\tst.v4", "cvta", "local"})
    CHECK(count(text, generic) == 0);
}

TEST_CASE("only fma is fused") {
  const std::string text = ptx_of([](const KernelBody& body) {
    Builder& builder = body.builder;
    llvm::Value* values[3];
    for (int i = 0; i < 3; ++i)
      values[i] = builder.CreateLoad(builder.getFloatTy(), body.operand(i));
    builder.CreateStore(builder.CreateFAdd(builder.CreateFMul(values[0], values[1]), values[2]),
                        body.operand(3));
    builder.CreateStore(builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getFloatTy()},
                                                {values[0], values[1], values[2]}),
                        body.operand(4));
    builder.CreateStore(builder.CreateFDiv(values[0], values[1]), body.operand(5));
    builder.CreateStore(builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, values[2]),
                        body.operand(6));
  });
  INFO(text);
  for (const char* exact : {"mul.rn.f32", "add.rn.f32", "fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"})
    CHECK(count(text, exact) == 1);
}

TEST_CASE("what lanes do together stays where it is") {
  // Only a branch uses each result, so that a compiler would like to compute it there.
  for (const ptx::Op op :
       {ptx::Op::MmaF16, ptx::Op::LoadMatrix4, ptx::Op::ShuffleBfly, ptx::Op::Ballot}) {
    const ptx::DeviceOp& definition = ptx::device_ops()[static_cast<std::size_t>(op)];
    llvm::LLVMContext context;
    const auto module = kernel_of(context, definition);
    llvm::Function* kernel = module->getFunction("kernel");
    llvm::Instruction* after =
        llvm::cast<llvm::CallInst>(*module->getFunction(definition.name)->user_begin())
            ->getNextNode();
    llvm::BasicBlock* head = after->getParent();
    llvm::BasicBlock* tail = head->splitBasicBlock(after);
    auto* end = llvm::BasicBlock::Create(context, "end", kernel);
    Builder(end).CreateRetVoid();
    head->getTerminator()->eraseFromParent();
    Builder builder(head);
    builder.CreateCondBr(
        builder.CreateICmpULT(ptx::call(builder, ptx::Op::Lane), builder.getInt32(7)), tail, end);
    const std::string text = ptx::lower_to_ptx(*module);
    INFO(text);
    const std::size_t operation = text.find(definition.ptx.substr(0, definition.ptx.find(' '))),
                      branch = text.find("bra");
    REQUIRE(operation != std::string::npos);
    REQUIRE(branch != std::string::npos);
    CHECK(operation < branch);
  }
}

TEST_CASE("threads lower at once") {
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&text] {
      for (int i = 0; i < 5; ++i) {
        llvm::LLVMContext context;
        text = ptx::lower_to_ptx(*sample(context));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) CHECK(text == texts[0]);
  CHECK(texts[0] != "");
}
