#pragma once
// Generated code: compiled once per class and process, kept on disk between processes.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dyn/options.hpp"
#include "src/rkernel/target.hpp"

namespace llvm {
class Module;
}

namespace dyn::cpu {

struct Isa;

/// One function to have: `key` is everything that its code depends on besides the ISA and the versions of dyn and LLVM;
/// `emit` writes a function named `symbol`, external, nounwind, into the (empty) module.
struct KernelSource {
  std::string key;
  std::function<void(llvm::Module& module, const std::string& symbol)> emit;
};

/// How pages of generated code are mapped. Protect: written first, made executable then. Dual: mapped twice, for systems that
/// refuse to make written pages executable. Automatic: the first of the two that this system allows.
enum class CodeMapping { Automatic, Protect, Dual };

struct CodeStoreOptions {
  std::string cache_dir;  ///< empty: memory only
  bool perf_map = false;  ///< append symbols to /tmp/perf-PID.map
  bool debugger = false;  ///< register objects with GDB
  std::function<void(LogLevel, std::string_view)> log;
  CodeMapping mapping = CodeMapping::Automatic;
};

/// Process-wide memory of code for one ISA (thread-safe), with an optional directory behind it.
class CodeStore {
 public:
  static std::shared_ptr<CodeStore> open(const Isa& isa, const CodeStoreOptions& options);
  virtual ~CodeStore() = default;
  /// The addresses, in the order of `sources`, valid while the store lives. Compiles what is missing on `threads` threads.
  virtual std::vector<void*> resolve(std::span<const KernelSource> sources, int threads, rkernel::CompileReport& report) = 0;
};

}  // namespace dyn::cpu
