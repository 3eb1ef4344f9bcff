#pragma once
// Operators over whole tensors that a GPU runs as one kernel: what a kernel needs to know of them.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::ptx {

/// One piece of code of an operator.
struct FunctionClass {
  std::string name;      ///< "rows of 1 warp"
  std::string key;       ///< everything that the code depends on
  int shared_bytes = 0;  ///< of a block
};

/// One shape: the class that runs it, and with which numbers.
struct FunctionLaunch {
  std::size_t chosen = 0;
  std::vector<std::int64_t> ints;
  std::int64_t tickets = 0;
  std::size_t shared_bytes = 0;  ///< of all blocks (rkernel::Launch::shared_bytes)
  double bytes = 0, seconds = 0;
};

class DeviceFunction {
 public:
  virtual ~DeviceFunction() = default;
  std::span<const FunctionClass> classes() const { return classes_; }
  virtual void emit(llvm::Module& module, const std::string& symbol, std::size_t chosen) const = 0;
  /// Throws Error(unsupported) where a tensor has 2^31 elements or more.
  virtual FunctionLaunch launch(std::span<const std::int64_t> symbols,
                                const choice::GpuMachine& machine) const = 0;

 protected:
  std::vector<FunctionClass> classes_;
};

/// Blocks of function_threads threads that a GPU holds at once.
std::int64_t resident_blocks(const choice::GpuMachine& machine, int shared_bytes);

/// The function of a cumsum, or nullptr: device code does not compute with its dtype.
std::unique_ptr<DeviceFunction> make_scan(const rkernel::HostCall& call);
/// The function of a scatter_elements or scatter_nd, or nullptr: device code does not compute with
/// its dtype, or a 16-bit float has sums or products, which are kept in f32 until all are made.
std::unique_ptr<DeviceFunction> make_scatter(const rkernel::HostCall& call);
/// The function of the steps of a recurrent layer, or nullptr: its weights are integers, or an
/// operand is not simply read.
std::unique_ptr<DeviceFunction> make_recurrence(const rkernel::Problem& problem);
/// The function of a linear_attention, or nullptr: it has a literal, or a dtype that device code
/// does not know.
std::unique_ptr<DeviceFunction> make_linear_attention(const rkernel::HostCall& call);
/// The function of a topk, or nullptr: its elements are codes.
std::unique_ptr<DeviceFunction> make_topk(const rkernel::HostCall& call);

}  // namespace dyn::ptx
