#include "targets/ptx/tile/leaf.hpp"

#include "dyn/error.hpp"

namespace dyn::ptx {
namespace {

[[noreturn]] void loads_nothing_ahead() {
  throw Error(ErrorKind::internal, "this engine loads no fragments ahead");
}

}  // namespace

std::vector<llvm::Value*> Leaf::first_fragments(codegen::Builder&, llvm::Value*, llvm::Value*) {
  loads_nothing_ahead();
}

std::vector<llvm::Value*> Leaf::multiply_ahead(codegen::Builder&, llvm::Value*, llvm::Value*,
                                               std::span<llvm::Value* const>,
                                               std::vector<llvm::Value*>&,
                                               const std::function<std::vector<llvm::Value*>()>&) {
  loads_nothing_ahead();
}

}  // namespace dyn::ptx
