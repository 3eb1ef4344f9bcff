#include "tests/unit/ptx/ir/device_kernels.hpp"

#include <doctest/doctest.h>

#include "dyn/error.hpp"

namespace dyn::test {
namespace {

using codegen::Builder;

/// Something of each kind, different in each thread.
llvm::Value* argument_of(const KernelBody& body, char letter, unsigned index) {
  Builder& builder = body.builder;
  llvm::Value* thread = ptx::call(builder, ptx::Op::Thread);
  switch (letter) {
    case 'i': return builder.CreateAdd(thread, builder.getInt32(index));
    case 'I': return builder.getInt32(constant_argument(index));
    case 'l': return builder.CreateZExt(thread, builder.getInt64Ty());
    case 'h': return builder.CreateTrunc(thread, builder.getInt16Ty());
    case 'b': return builder.CreateICmpULT(thread, builder.getInt32(5));
    case 'f':
      return builder.CreateUIToFP(builder.CreateAdd(thread, builder.getInt32(index)),
                                  builder.getFloatTy());
    case 's':
      return builder.CreateGEP(builder.getInt64Ty(), ptx::call(builder, ptx::Op::Shared), thread);
    case 'g': return builder.CreateGEP(builder.getInt64Ty(), body.operand(0), thread);
    default: FAIL("no argument of kind " << letter); return nullptr;
  }
}

}  // namespace

std::uint32_t constant_argument(unsigned index) {
  constexpr std::uint32_t values[] = {
      1, 32, 31};  // a barrier and its threads; a shuffle's distance and segment
  return values[index];
}

llvm::Value* KernelBody::operand(int i) const {
  llvm::Type* pointer = kernel->getArg(0)->getType();
  llvm::Value* field =
      builder.CreateConstGEP1_64(pointer, kernel->getArg(0), static_cast<std::uint64_t>(i));
  return builder.CreateAlignedLoad(pointer, field, llvm::Align(8));
}

std::unique_ptr<llvm::Module> device_kernel(llvm::LLVMContext& context,
                                            const std::function<void(const KernelBody&)>& body,
                                            int threads, int shared_bytes) {
  auto module = ptx::make_device_module(context, "test");
  Builder builder(context);
  const KernelBody parts{builder,
                         ptx::create_kernel(builder, *module, "kernel", threads, shared_bytes)};
  body(parts);
  builder.CreateRetVoid();
  return module;
}

std::unique_ptr<llvm::Module> kernel_of(llvm::LLVMContext& context, const ptx::DeviceOp& op) {
  return device_kernel(context, [&](const KernelBody& body) {
    Builder& builder = body.builder;
    std::vector<llvm::Value*> arguments;
    for (const char letter : op.signature.substr(op.signature.find('(') + 1)) {
      if (letter != ')')
        arguments.push_back(argument_of(body, letter, static_cast<unsigned>(arguments.size())));
    }
    llvm::CallInst* call = ptx::call(builder, op.op, std::span<llvm::Value* const>(arguments));
    llvm::Value* place = body.operand(1);
    for (llvm::Value* result : ptx::results(builder, call)) {
      if (result->getType()->isIntegerTy(1))
        result = builder.CreateZExt(result, builder.getInt8Ty());
      if (result->getType()->isPointerTy())
        result = builder.CreateAlignedLoad(builder.getInt32Ty(), result, llvm::Align(4));
      builder.CreateStore(result, place);
      place = builder.CreateConstGEP1_64(builder.getInt64Ty(), place, 1);
    }
  });
}

std::string internal_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    return error.what();
  }
  return "";
}

}  // namespace dyn::test
