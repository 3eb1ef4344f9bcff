#pragma once
// DYN_DUMP=passes,problems,llvm,asm writes each step of a model on its way to code as files in the
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
  /// Reads the environment as it is now; a process with more rights than its caller ignores it.
  /// Throws Error(user) for a kind that does not exist.
  static Dump from_environment();

  bool wants(DumpKind kind) const noexcept {
    return (kinds_ >> static_cast<unsigned>(kind) & 1U) != 0;
  }
  /// Replaces the file FOLDER/name and makes the folder. Characters that a file's name cannot have
  /// become "_". Throws Error(device). Thread-safe for different names.
  void write(std::string_view name, std::string_view text) const;
  /// A text that differs between settings that write different files.
  std::string identity() const;

 private:
  unsigned kinds_ = 0;
  std::string folder_;
};

}  // namespace dyn
