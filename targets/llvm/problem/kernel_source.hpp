#pragma once
// A function that a target can generate.

#include <functional>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace dyn::codegen {

/// `key` is everything that the code depends on besides the machine and the versions of dyn and
/// LLVM; `emit` writes a function named `symbol`, external, nounwind, into the (empty) module.
/// `problem`: a name for messages; empty: none.
struct KernelSource {
  std::string key;
  std::function<void(llvm::Module& module, const std::string& symbol)> emit;
  std::string problem = {};
};

/// The code of several functions depends on this.
inline std::string joined_keys(const std::vector<KernelSource>& sources) {
  std::string keys;
  for (const KernelSource& source : sources) keys += source.key + "\n";
  return keys;
}

}  // namespace dyn::codegen
