#include "targets/ptx/ir/device_math.hpp"

#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx {

llvm::Value* approximate_exp2(codegen::Builder& builder, llvm::Value* x) {
  return call(builder, Op::Exp2, {x});
}

llvm::Value* approximate_reciprocal(codegen::Builder& builder, llvm::Value* x) {
  return call(builder, Op::Reciprocal, {x});
}

}  // namespace dyn::ptx
