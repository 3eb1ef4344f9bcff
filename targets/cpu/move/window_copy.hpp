#pragma once
// A block of a contraction's left side that has windows for rows, brought into scratch, as IR:
// there is no matrix of all windows anywhere.

#include <vector>

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// One rkernel::WindowAxis.
struct WindowAxisValues {
  llvm::Value *size = nullptr, *stride = nullptr, *dilation = nullptr, *before = nullptr,
              *extent = nullptr, *step = nullptr;
  bool has_taps = false;         ///< else the size is 1
  llvm::Value* count = nullptr;  ///< of a part of m: how many windows there are
  llvm::Value* index = nullptr;  ///< of a part of a batch axis: the window
};

struct WindowBlock {
  std::vector<WindowAxisValues> axes;  ///< outermost first
  llvm::Value *channels = nullptr, *channel_step = nullptr;
  bool unit_channels = false;                         ///< channel_step is 1
  bool run = false;                                   ///< rkernel::is_run
  std::int64_t segment = 0;                           ///< rkernel::short_segment
  llvm::Value* data = nullptr;                        ///< f32; element (0, ..., 0) of the batch
  llvm::Value *first_row = nullptr, *rows = nullptr;  ///< of m
  llvm::Value *k0 = nullptr, *k_size = nullptr;       ///< of k
};

/// to[i] = from[i] and to[i] = 0 for all i < count, f32.
void move_elements(codegen::Builder& builder, const codegen::Isa& isa, llvm::Value* from,
                   llvm::Value* to, llvm::Value* count);
void clear_elements(codegen::Builder& builder, const codegen::Isa& isa, llvm::Value* to,
                    llvm::Value* count);

/// to[row * to_row + k - k0] for all rows and all k of the block; what lies outside of the tensor
/// is 0.
void emit_window_copy(codegen::Builder& builder, const codegen::Isa& isa, const WindowBlock& block,
                      llvm::Value* to, llvm::Value* to_row);

}  // namespace dyn::cpu
