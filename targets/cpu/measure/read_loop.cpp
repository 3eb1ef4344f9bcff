#include "targets/cpu/measure/read_loop.hpp"

#include <llvm/IR/Module.h>

#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

constexpr int vectors_in_flight = 8;

void emit_read_loop(llvm::Module& module, const std::string& symbol, const codegen::Isa& isa) {
  codegen::Builder builder(module.getContext());
  llvm::Type* i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(i64, {builder.getPtrTy(), i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  auto* vector = llvm::FixedVectorType::get(i64, static_cast<unsigned>(isa.f32_lanes / 2));
  const std::uint64_t vector_bytes = static_cast<std::uint64_t>(isa.f32_lanes) * 4;
  const std::vector<llvm::Value*> zeros(vectors_in_flight, llvm::Constant::getNullValue(vector));
  codegen::CountedLoop passes(builder, builder.getInt64(0), function->getArg(2),
                              builder.getInt64(1), "pass", zeros);
  std::vector<llvm::Value*> sums;
  for (std::size_t i = 0; i < zeros.size(); ++i) sums.push_back(passes.carried(i));
  codegen::CountedLoop reads(builder, builder.getInt64(0), function->getArg(1),
                             builder.getInt64(vector_bytes * vectors_in_flight), "read", sums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    llvm::Value* offset = builder.CreateAdd(reads.index(), builder.getInt64(vector_bytes * i));
    llvm::Value* value = builder.CreateAlignedLoad(
        vector, builder.CreateGEP(builder.getInt8Ty(), function->getArg(0), offset),
        llvm::Align(8));
    // The pass number keeps the passes distinct.
    sums[i] = builder.CreateXor(builder.CreateAdd(reads.carried(i), value),
                                codegen::broadcast(builder, passes.index(), isa.f32_lanes / 2));
  }
  const std::vector<llvm::Value*> after_reads = reads.close(sums);
  const std::vector<llvm::Value*> totals = passes.close(after_reads);
  llvm::Value* total = totals[0];
  for (std::size_t i = 1; i < totals.size(); ++i) total = builder.CreateAdd(total, totals[i]);
  builder.CreateRet(builder.CreateAddReduce(total));
}

}  // namespace

codegen::KernelSource read_loop_source(const codegen::Isa& isa) {
  return {"read loop", [&isa](llvm::Module& module, const std::string& symbol) {
            emit_read_loop(module, symbol, isa);
          }};
}

}  // namespace dyn::cpu
