#pragma once
// Compiles LLVM modules to relocatable objects, for one ISA.

#include <memory>
#include <span>
#include <string>

#include "targets/llvm/jit/jit.hpp"

namespace dyn::codegen {

/// LLVM ends the process where it gets no memory. When one of these began, the address space had
/// room for a usual compilation, or linking, and for what others may still need.
class RoomForLlvm {
 public:
  /// Throws std::bad_alloc where there is none.
  RoomForLlvm();
  ~RoomForLlvm();
  RoomForLlvm(const RoomForLlvm&) = delete;
  RoomForLlvm& operator=(const RoomForLlvm&) = delete;

  /// Does one live on this thread?
  static bool is_taken() noexcept;
};

/// Not thread-safe; each compiling thread has its own. Throws Error(internal) where LLVM refuses
/// the module.
class Compiler {
 public:
  explicit Compiler(const Isa& isa, CodeEffort effort = CodeEffort::Full);
  ~Compiler();
  Compiler(Compiler&&) noexcept;

  /// Object bytes of `source`, its function named `symbol`.
  std::string compile(const KernelSource& source, const std::string& symbol);
  /// One object of several sources, at least one, for a library that shows nobody their functions.
  std::string library_object(std::span<const KernelSource> sources,
                             std::span<const std::string> symbols);
  /// The same as assembly text, for tests of the code's shape.
  std::string assembly(const KernelSource& source, const std::string& symbol);
  /// The IR before code generation.
  std::string ir(const KernelSource& source, const std::string& symbol);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// LLVM's version text, part of cache keys.
std::string llvm_version();

}  // namespace dyn::codegen
