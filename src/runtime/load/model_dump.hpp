#pragma once
// The files that DYN_DUMP asks for, of one model.

#include <string>

#include "graph/passes/pipeline.hpp"
#include "graph/passes/segments.hpp"
#include "src/base/dump.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

/// Segments of one model have files of their own, each told by its first node, and bodies by their
/// names. Errors are
/// Error(device), for files that cannot be written.
class ModelDump {
 public:
  /// `segment` and `body`: nullptr for a whole model. `dump` must outlive this.
  ModelDump(const Dump& dump, const graph::Segment* segment, const graph::Module* body);

  /// Writes the module's text now and after each pass, numbered in their order. Empty where nobody
  /// asks for that.
  graph::PassObserver passes(const graph::Module& module) const;
  void problems(const std::vector<rkernel::Problem>& problems) const;
  /// PTX; assembly of the CPU is written where it is made (CodeStoreOptions::dump).
  void listings(const rkernel::Kernel& kernel) const;

 private:
  void write(const std::string& name, const std::string& text) const;

  const Dump& dump_;
  std::string prefix_;
};

}  // namespace dyn::runtime
