#pragma once
// The primary context of one GPU: the one that all libraries of a process share.

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/cuda/driver.hpp"

namespace dyn::ptx::cuda {

/// Holds the primary context. Thread-safe. Shared by the device and its streams: the last one gives
/// it back.
class Context {
 public:
  /// Throws Error(unsupported) where the GPU is too old.
  Context(std::shared_ptr<const Driver> driver, int index);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Driver& driver() const noexcept { return *driver_; }
  ContextHandle handle() const noexcept { return handle_; }
  /// Memory may be allocated in the order of a stream.
  bool has_memory_pools() const noexcept { return has_memory_pools_; }
  DeviceId device() const noexcept { return device_; }
  const choice::GpuMachine& machine() const noexcept { return machine_; }
  /// "NVIDIA H200 (cuda 0)", for messages.
  const std::string& label() const noexcept { return label_; }
  /// True where a failure has made everything in the context unusable.
  bool lost() const noexcept { return lost_; }

  /// Throws Error(device) unless the result is Success: "LABEL: DOING: TEXT". Notes a lost context,
  /// and says what to do then.
  void check(Result result, const std::string& doing) const {
    if (result != Result::Success) fail(result, doing);
  }
  /// The same for an allocation: where there is no memory, says how much was wanted for `what`, and
  /// how much is free. The context must be current.
  void check_allocation(Result result, std::size_t bytes, std::string_view what) const;
  [[noreturn]] void fail(Result result, const std::string& doing) const;

  /// Makes the context current on the calling thread until the end of the scope, and then restores
  /// the one that was current before.
  class Scope {
   public:
    explicit Scope(const Context& context);
    /// For clean-up, which must not throw: active() tells whether it worked.
    Scope(const Context& context, std::nothrow_t) noexcept;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();
    bool active() const noexcept { return active_; }

   private:
    const Context& context_;
    bool active_;
  };

 private:
  std::shared_ptr<const Driver> driver_;
  DeviceId device_ = 0;
  ContextHandle handle_ = nullptr;
  choice::GpuMachine machine_;
  bool has_memory_pools_ = false;
  std::string label_;
  mutable std::atomic<bool> lost_{false};
};

}  // namespace dyn::ptx::cuda
