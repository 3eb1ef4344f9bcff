#pragma once
// Generated code: compiled once per class and process, kept on disk between processes.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/dump.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::codegen {

struct Isa;

/// The mapping of pages of generated code. Protect: written first, made executable then. Dual:
/// mapped twice, for systems that refuse to make written pages executable. Automatic: the first of
/// the two that this system allows.
enum class CodeMapping { Automatic, Protect, Dual };

/// Full: for code that runs often. Quick: for code that runs rarely or briefly, compiled in a
/// fraction of the time.
enum class CodeEffort { Full, Quick };

struct CodeStoreOptions {
  std::string cache_dir;  ///< empty: memory only
  bool perf_map = false;  ///< append symbols to /tmp/perf-PID.map
  bool debugger = false;  ///< register objects with GDB
  CodeMapping mapping = CodeMapping::Automatic;
  CodeEffort effort = CodeEffort::Full;
  Dump dump;  ///< dumps of IR and assembly; a function that is dumped is compiled, whatever the
              ///< directory has
};

/// Functions in memory. The addresses are valid while somebody holds `keep`.
struct LinkedCode {
  std::vector<void*> addresses;
  std::vector<std::shared_ptr<const void>> keep;
};

/// Process-wide memory of code for one ISA (thread-safe), with an optional directory behind it.
class CodeStore {
 public:
  static std::shared_ptr<CodeStore> open(const Isa& isa, const CodeStoreOptions& options);
  virtual ~CodeStore() = default;
  /// Why nothing is kept on disk; empty where it is, or need not be.
  virtual const std::string& problem() const noexcept = 0;
  /// The addresses stand in the order of `sources`. Functions that others hold are shared; what is
  /// missing is compiled on `threads` threads.
  virtual LinkedCode resolve(std::span<const KernelSource> sources, int threads,
                             rkernel::CompileReport& report) = 0;
};

}  // namespace dyn::codegen
