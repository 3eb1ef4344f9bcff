#include "targets/ptx/emulator/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "dyn/error.hpp"

namespace dyn::ptx::emulation {
namespace {

constexpr std::size_t most_reports = 100;

void add_counts(EmulatorCounts& sum, const EmulatorCounts& counts) {
  constexpr std::int64_t EmulatorCounts::* fields[] = {
      &EmulatorCounts::launches,     &EmulatorCounts::blocks, &EmulatorCounts::barriers,
      &EmulatorCounts::async_copies, &EmulatorCounts::mmas,   &EmulatorCounts::loads,
      &EmulatorCounts::stores};
  for (const auto field : fields) sum.*field += counts.*field;
}

}  // namespace

const EmulatedKernel* Launcher::add(EmulatedKernel kernel) {
  auto owned = std::make_unique<EmulatedKernel>(std::move(kernel));
  const EmulatedKernel* function = owned.get();
  const std::lock_guard lock(mutex_);
  kernels_.emplace(function, std::move(owned));
  return function;
}

const EmulatedKernel* Launcher::find(const void* function) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(function);
  return found == kernels_.end() ? nullptr : found->second.get();
}

std::string Launcher::memory_refusal(const rkernel::DeviceLaunch& launch) const {
  const auto lies = [&](rkernel::DeviceAddress address, std::size_t bytes) {
    return bytes == 0 || memory_->bytes_from(address) >= bytes;
  };
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    const rkernel::OperandRange& operand = launch.operands[i];
    if (!lies(operand.begin, operand.bytes))
      return fmt::format("operand {} is {} bytes at {:#x}, which are not allocated", i,
                         operand.bytes, operand.begin);
  }
  if (!lies(launch.pointers, launch.operands.size() * sizeof(rkernel::DeviceAddress)))
    return fmt::format("its pointers at {:#x} are not allocated", launch.pointers);
  if (!lies(launch.ints, sizeof(std::int64_t)))
    return fmt::format("its ints at {:#x} are not allocated", launch.ints);
  if (!lies(launch.status, sizeof(std::int32_t)))
    return fmt::format("its status at {:#x} is not allocated", launch.status);
  return "";
}

std::string Launcher::refusal(const rkernel::DeviceLaunch& launch,
                              const EmulatedKernel& kernel) const {
  constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();
  if (launch.blocks < 0 || launch.blocks > most_blocks)
    return fmt::format("{} blocks; 0 to {} are possible", launch.blocks, most_blocks);
  if (launch.threads != kernel.threads)
    return fmt::format("{} threads in a block; the kernel was made for {}", launch.threads,
                       kernel.threads);
  if (launch.threads > machine_.threads_per_block)
    return fmt::format("{} threads in a block; {} has at most {}", launch.threads, machine_.name,
                       machine_.threads_per_block);
  if (launch.shared_bytes < kernel.shared_bytes)
    return fmt::format("{} bytes of shared memory; the kernel was made for {}", launch.shared_bytes,
                       kernel.shared_bytes);
  if (launch.shared_bytes > machine_.shared_bytes_per_block)
    return fmt::format("{} bytes of shared memory; a block of {} has at most {}",
                       launch.shared_bytes, machine_.name, machine_.shared_bytes_per_block);
  return memory_refusal(launch);
}

std::optional<FaultReport> Launcher::launch(const rkernel::DeviceLaunch& launch) {
  const EmulatedKernel* kernel = find(launch.function);
  if (kernel == nullptr)
    throw Error(ErrorKind::device,
                fmt::format("launching {}: not a function of this emulator", launch.name));
  if (const std::string reason = refusal(launch, *kernel); !reason.empty()) {
    const FaultReport report{Fault::BadLaunch, launch.name, 0, 0, "", reason};
    keep(report);
    throw Error(ErrorKind::device, fmt::format("launching {}: {}", launch.name, reason));
  }
  std::unique_ptr<Multiprocessor> multiprocessor = take_multiprocessor();
  // A multiprocessor that runs out of memory during a launch is not used again.
  std::optional<FaultReport> report = multiprocessor->run(
      *kernel, launch, blocks_in(block_order(), launch.blocks), most_resident(launch, *kernel),
      memory_->bytes_from(launch.ints), counting_);
  finish(std::move(multiprocessor), report);
  return report;
}

// Registers are not known before ptxas has given them out: the values that are live at once are the
// least.
std::size_t Launcher::most_resident(const rkernel::DeviceLaunch& launch,
                                    const EmulatedKernel& kernel) const {
  const int registers = std::min(kernel.live_words, machine_.registers_per_thread);
  const int fitting =
      choice::occupancy(machine_, launch.threads, registers, launch.shared_bytes).blocks;
  return static_cast<std::size_t>(machine_.multiprocessors) *
         static_cast<std::size_t>(std::max(1, fitting));
}

std::unique_ptr<Multiprocessor> Launcher::take_multiprocessor() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Multiprocessor>();
  std::unique_ptr<Multiprocessor> taken = std::move(idle_.back());
  idle_.pop_back();
  return taken;
}

void Launcher::finish(std::unique_ptr<Multiprocessor> multiprocessor,
                      const std::optional<FaultReport>& report) {
  const EmulatorCounts counts = multiprocessor->take_counts();
  if (report) keep(*report);
  const std::lock_guard lock(mutex_);
  add_counts(counts_, counts);
  if (auto counters = multiprocessor->take_counters()) counters_.push_back(*std::move(counters));
  idle_.push_back(std::move(multiprocessor));
}

void Launcher::keep(const FaultReport& report) {
  const std::lock_guard lock(mutex_);
  if (reports_.size() < most_reports) reports_.push_back(report);
}

std::vector<FaultReport> Launcher::take_reports() {
  const std::lock_guard lock(mutex_);
  return std::exchange(reports_, {});
}

std::vector<KernelCounters> Launcher::take_counters() {
  const std::lock_guard lock(mutex_);
  return std::exchange(counters_, {});
}

void Launcher::set_block_order(const BlockOrder& order) {
  const std::lock_guard lock(mutex_);
  order_ = order;
}

BlockOrder Launcher::block_order() const {
  const std::lock_guard lock(mutex_);
  return order_;
}

EmulatorCounts Launcher::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace dyn::ptx::emulation
