#pragma once
// Checks, executes and counts launches, and keeps their faults.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/emulator/memory/emulated_memory.hpp"
#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

/// Thread-safe: each launch has a multiprocessor of its own, on its caller's thread.
class Launcher {
 public:
  Launcher(const choice::GpuMachine& machine, std::shared_ptr<EmulatedMemory> memory)
      : machine_(machine), memory_(std::move(memory)) {}

  /// Kernels that may be launched, kept as long as the launcher.
  const EmulatedKernel* add(EmulatedKernel kernel);
  const EmulatedKernel* find(const void* function) const;

  /// Throws Error(device) for a launch that is refused; returns a fault of its kernel.
  std::optional<FaultReport> launch(const rkernel::DeviceLaunch& launch);
  std::vector<FaultReport> take_reports();
  EmulatorCounts counts() const;
  std::vector<KernelCounters> take_counters();
  void set_counting(bool counting) { counting_ = counting; }
  void set_block_order(const BlockOrder& order);
  const choice::GpuMachine& machine() const { return machine_; }

 private:
  std::string refusal(const rkernel::DeviceLaunch& launch, const EmulatedKernel& kernel) const;
  std::size_t most_resident(const rkernel::DeviceLaunch& launch,
                            const EmulatedKernel& kernel) const;
  std::string memory_refusal(const rkernel::DeviceLaunch& launch) const;
  BlockOrder block_order() const;
  std::unique_ptr<Multiprocessor> take_multiprocessor();
  void finish(std::unique_ptr<Multiprocessor> multiprocessor,
              const std::optional<FaultReport>& report);
  void keep(const FaultReport& report);

  const choice::GpuMachine machine_;
  std::shared_ptr<EmulatedMemory> memory_;
  std::atomic<bool> counting_{false};
  mutable std::mutex mutex_;
  std::map<const void*, std::unique_ptr<EmulatedKernel>> kernels_;
  std::vector<std::unique_ptr<Multiprocessor>> idle_;
  std::vector<FaultReport> reports_;
  EmulatorCounts counts_;
  BlockOrder order_;
  std::vector<KernelCounters> counters_;
};

}  // namespace dyn::ptx::emulation
