#include "targets/ptx/lowering/listing.hpp"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cctype>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"

namespace dyn::ptx {

rkernel::CodeListing list_code(const std::string& name, const codegen::KernelSource& source) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module =
      emit_device_module(context, source, kernel_symbol(source.key));
  rkernel::CodeListing listing;
  listing.name = name;
  std::ranges::replace_if(
      listing.name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.'; },
      '_');
  listing.text = lower_to_ptx(*module, &listing.hash);
  llvm::raw_string_ostream(listing.ir) << *module;
  return listing;
}

}  // namespace dyn::ptx
