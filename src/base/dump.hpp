#pragma once
// DYN_DUMP=passes,problems,llvm,asm: what a model becomes on its way to code, as files in the
// folder DYN_DUMP_DIR (default: dyn-dump).

#include <cstdint>
#include <string>
#include <string_view>

namespace dyn {

enum class DumpKind : std::uint8_t {
  Passes,    ///< the module's text after each pass
  Problems,  ///< what each group computes, as text
  Llvm,      ///< IR of each function that is compiled, before code generation
  Assembly   ///< assembly of each such function; PTX of kernels on a GPU
};

class Dump {
 public:
  /// Nothing is dumped.
  Dump() = default;
  /// As the environment says now; a process with more rights than its caller ignores it. Throws
  /// Error(user) for a kind that does not exist.
  static Dump from_environment();

  bool wants(DumpKind kind) const noexcept {
    return (kinds_ >> static_cast<unsigned>(kind) & 1U) != 0;
  }
  /// Replaces the file FOLDER/name, whose folder it makes; what a file's name cannot have becomes
  /// "_". Throws Error(device). Thread-safe for different names.
  void write(std::string_view name, std::string_view text) const;
  /// Distinguishes it from others that would write other files.
  std::string identity() const;

 private:
  unsigned kinds_ = 0;
  std::string folder_;
};

}  // namespace dyn
