#pragma once
// Element-wise work on an image that windows slide over, done in the copies of its elements
// (prologues): a function of its own for each problem.

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// Computes Contraction::a_value in place for elements that lie one after the other, channels
/// innermost. The source refers to all of them.
codegen::KernelSource image_work_source(const rkernel::Problem& problem, const codegen::Isa& isa,
                                        const codegen::SlotTable& slots);

/// Such a function, as code calls it.
struct ImageWork {
  llvm::Value *function, *kernel_args;  ///< addresses, i64
  llvm::Value* channels;                ///< of the image
};

/// For `count` elements at `elements`, the first of which is of `channel`.
void call_image_work(codegen::Builder& builder, const ImageWork& work, llvm::Value* elements,
                     llvm::Value* channel, llvm::Value* count);

}  // namespace dyn::cpu
