#pragma once
// Functions that generated code defines and calls: their types, made in one place.

#include <string>

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace llvm {
class Module;
}

namespace dyn::cpu {

/// Arguments of a MainLoop.
enum MainLoopArgument : unsigned {
  a_argument,
  a_row_argument,
  b_argument,
  b_k_argument,
  panel_argument,
  k_argument,
  c_argument,
  c_row_argument,
  accumulate_argument,
  ahead_argument,
  ahead_step_argument,
  rows_ahead_argument
};

/// The type of a MainLoop, for calls through a table.
llvm::FunctionType* main_loop_type(codegen::Builder& builder);
/// A MainLoop without a body; a, b and c do not overlap.
llvm::Function* create_main_loop(codegen::Builder& builder, llvm::Module& module,
                                 const std::string& symbol);
/// An rkernel::KernelFunction whose entry block is empty; the builder stands there.
llvm::Function* create_kernel_function(codegen::Builder& builder, llvm::Module& module,
                                       const std::string& symbol);
/// The same of code that converts numbers as the ISA does.
llvm::Function* create_kernel_function(codegen::Builder& builder, llvm::Module& module,
                                       const std::string& symbol, const codegen::Isa& isa);
/// Lets a function's code round to bf16 by the ISA's instruction, where it has one.
void allow_rounding(llvm::Function& function, const codegen::Isa& isa);
/// Lets it use a feature of LLVM's name besides the ISA.
void allow_feature(llvm::Function& function, const codegen::Isa& isa, std::string_view feature);

}  // namespace dyn::cpu
