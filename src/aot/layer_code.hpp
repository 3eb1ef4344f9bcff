#pragma once
// The kernels of common layers on an ISA, as sources.

#include <memory>
#include <span>
#include <vector>

#include "graph/ir/module.hpp"
#include "targets/cpu/drafts.hpp"

namespace dyn::aot {

/// The ISA may be another than this CPU's. The texts are those of common_layers() and
/// plain_layers().
class LayerCode {
 public:
  explicit LayerCode(const codegen::Isa& isa);
  LayerCode(const LayerCode&) = delete;
  LayerCode& operator=(const LayerCode&) = delete;

  /// The sources of all layers refer to this; several may have the same key.
  std::span<const codegen::KernelSource> sources() const noexcept { return sources_; }

 private:
  void add(const std::string& text, const cpu::KernelContext& context,
           const rkernel::Factors& weights);

  std::vector<std::unique_ptr<graph::Module>> modules_;  ///< whose dims the drafts refer to
  std::vector<std::unique_ptr<cpu::KernelDrafts>> drafts_;
  std::vector<codegen::KernelSource> sources_;
};

}  // namespace dyn::aot
