#pragma once
// Code that no manifest has: of tiles that a policy makes when it meets a shape.

#include <cstddef>
#include <deque>
#include <functional>
#include <shared_mutex>

#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/contraction/emitter.hpp"

namespace dyn::ptx {

/// Gives the handle of a source's code, as those of a manifest's sources are; equal keys have one.
using CodeOnDemand = std::function<const void*(codegen::KernelSource)>;

/// Classes of one contraction beyond its manifest. Thread-safe; references stay.
class LaterCode {
 public:
  /// Without `on_demand` handles are nullptr: launches can be planned and explained.
  explicit LaterCode(CodeOnDemand on_demand) : on_demand_(std::move(on_demand)) {}

  struct Class {
    GpuContractionClass shape_class;
    const void* function = nullptr;
  };
  /// The number of a class, which is added where it is new. `source`: gives that of the class.
  std::size_t number_of(const GpuContractionClass& shape_class,
                        const std::function<codegen::KernelSource()>& source);
  const Class& at(std::size_t number) const;

 private:
  const CodeOnDemand on_demand_;
  mutable std::shared_mutex mutex_;
  std::deque<Class> classes_;
};

}  // namespace dyn::ptx
