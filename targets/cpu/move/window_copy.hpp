#pragma once
// A block of a contraction's left side that has windows for rows, brought into scratch, as IR:
// there is no matrix of all windows anywhere.

#include <cstdint>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::cpu {

/// What code that copies windows is specialised on.
struct WindowForm {
  struct Axis {
    bool has_taps = false;  ///< else the size is 1
    bool of_m = false;      ///< a part of m; else of a batch axis
  };
  std::vector<Axis> axes;      ///< outermost first
  bool unit_channels = false;  ///< the channels' step is 1
  bool run = false;            ///< rkernel::is_run
  std::int64_t segment = 0;    ///< rkernel::short_segment
  bool works = false;          ///< elements of the tensor are computed where they have been copied
};
/// `works`: as WindowForm has it.
WindowForm window_form(const rkernel::WindowRows& rows, int m, bool works);

/// One rkernel::WindowAxis.
struct WindowAxisValues {
  llvm::Value *size = nullptr, *stride = nullptr, *dilation = nullptr, *before = nullptr,
              *extent = nullptr, *step = nullptr;
  llvm::Value* count = nullptr;  ///< of a part of m: how many windows there are
  llvm::Value* index = nullptr;  ///< of a part of a batch axis: the window
};

struct WindowBlock {
  WindowForm form;
  std::vector<WindowAxisValues> axes;  ///< outermost first
  llvm::Value *channels = nullptr, *channel_step = nullptr;
  llvm::Value* outside = nullptr;  ///< the bits of an element outside of the tensor, as i64
  llvm::Value* data = nullptr;     ///< of four bytes; element (0, ..., 0) of the batch
  llvm::Value *first_row = nullptr, *rows = nullptr;    ///< of m
  llvm::Value *k0 = nullptr, *k_size = nullptr;         ///< of k
  llvm::Value *work = nullptr, *kernel_args = nullptr;  ///< of ImageWork, where the form works

  /// Does the work on elements that were copied from the tensor, from `channel` on.
  void finish(codegen::Builder& builder, llvm::Value* copied, llvm::Value* channel,
              llvm::Value* count) const;
};

/// to[i] = from[i] and to[i] = value (an i64, whose upper half is not looked at) for all i < count,
/// elements of four bytes.
void move_elements(codegen::Builder& builder, const codegen::Isa& isa, llvm::Value* from,
                   llvm::Value* to, llvm::Value* count);
void fill_elements(codegen::Builder& builder, const codegen::Isa& isa, llvm::Value* value,
                   llvm::Value* to, llvm::Value* count);

/// A function that copies a block of windows of one form, whatever they are multiplied by:
/// to[row * to_row + k - k0] for all rows and all k of the block, of four bytes each.
codegen::KernelSource window_copy_source(const codegen::Isa& isa, const WindowForm& form);

/// Calls such a function. Its arguments lie on the stack of the function that calls it.
void call_window_copy(codegen::Builder& builder, llvm::Value* function, const WindowBlock& block,
                      llvm::Value* to, llvm::Value* to_row);

}  // namespace dyn::cpu
