#pragma once
// What kernels of a GPU share: code of several classes, of which a plan takes one.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"

namespace dyn::ptx {

class DeviceKernel : public rkernel::Kernel {
 public:
  /// The manifest: one source for each class that a shape can need.
  virtual std::vector<codegen::KernelSource> sources() const = 0;

  rkernel::Space space() const final { return rkernel::Space::Device; }
  std::string target_name() const final { return target_name_; }
  std::vector<rkernel::CodeListing> listings() const final;
  std::string listings_key() const final;
  std::vector<rkernel::CodeListing> listings_at(const rkernel::PlanRequest& request) const final;

 protected:
  explicit DeviceKernel(std::string target_name) : target_name_(std::move(target_name)) {}

  /// The code of sources()[index].
  const void* function_at(std::size_t index) const { return functions_.at(index); }
  /// A line for each of sources(), with its key.
  std::string class_keys() const;

 private:
  template <class Kernel, class Function>
  friend class codegen::KernelDraft;

  /// The source of a class_at(): of sources(), or of code that was made later.
  virtual codegen::KernelSource source_at(std::size_t index) const { return sources().at(index); }
  /// People call source_at(index) so.
  virtual std::string class_name(std::size_t index) const = 0;
  /// The class that the request's plan takes. Nothing where none fits the GPU.
  virtual std::optional<std::size_t> class_at(const rkernel::PlanRequest& request) const = 0;
  /// Handles from PtxDevice::load() for sources(), in that order.
  void take_code(std::vector<const void*> functions) { functions_ = std::move(functions); }

  std::string target_name_;
  std::vector<const void*> functions_;  ///< of sources()
};

}  // namespace dyn::ptx
