#include "targets/ptx/emulator/emulator.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <map>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "dyn/error.hpp"
#include "targets/llvm/code/parallel_jobs.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "targets/ptx/emulator/counters/roofline.hpp"
#include "targets/ptx/emulator/emulated_stream.hpp"
#include "targets/ptx/emulator/host_lowering.hpp"
#include "targets/ptx/emulator/launcher.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"

namespace dyn::ptx {

const char* name_of(Fault fault) noexcept {
  constexpr const char* names[] = {
      "out of bounds", "misaligned", "uninitialised", "before the wait", "race",
      "divergence",    "deadlock",   "barrier",       "unfinished",      "bad launch"};
  return names[static_cast<std::size_t>(fault)];
}

std::string to_string(const FaultReport& report) {
  if (report.fault == Fault::BadLaunch)
    return fmt::format("{}: {}: {}", report.kernel, name_of(report.fault), report.text);
  return fmt::format("{}: {}: block {} thread {}: {}\n  at: {}", report.kernel,
                     name_of(report.fault), report.block, report.thread, report.text,
                     report.instruction);
}

namespace {

using namespace emulation;

class EmulatorDevice final : public Emulator {
 public:
  explicit EmulatorDevice(const EmulatorOptions& options)
      : memory_(std::make_shared<EmulatedMemory>(options.memory_bytes)),
        launcher_(std::make_shared<Launcher>(options.machine, memory_)),
        code_(codegen::CodeStore::open(codegen::select_isa(""), store_options(options.cache_dir))) {
  }

  std::string name() const override { return "emulated " + machine().name; }
  const choice::GpuMachine& machine() const override { return launcher_->machine(); }
  rkernel::DeviceAddress allocate(std::size_t bytes, std::string_view what) override {
    return memory_->allocate(bytes, what);
  }
  void release(rkernel::DeviceAddress address) noexcept override { memory_->release(address); }
  std::size_t bytes_from(rkernel::DeviceAddress address) const override {
    return memory_->bytes_from(address);
  }
  std::unique_ptr<rkernel::Stream> make_stream() override {
    return emulation::make_stream(memory_, launcher_);
  }
  std::unique_ptr<rkernel::LaunchGraph> make_graph(
      std::span<const rkernel::DeviceLaunch> launches) override {
    return emulation::make_graph(launches);
  }

  std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                rkernel::CompileReport& report) override {
    const std::lock_guard lock(mutex_);
    std::vector<const codegen::KernelSource*> missing;
    std::unordered_set<std::string_view> seen;
    for (const codegen::KernelSource& source : sources) {
      if (!seen.insert(source.key).second) continue;
      if (by_key_.contains(source.key)) {
        ++report.kernels;
        ++report.from_memory;
      } else {
        missing.push_back(&source);
      }
    }
    std::vector<HostCode> code(missing.size());
    codegen::run_jobs(missing.size(), threads, [&](std::size_t i) {
      llvm::LLVMContext context;
      code[i] =
          lower_to_host(emit_device_module(context, *missing[i], kernel_symbol(missing[i]->key)));
    });
    const std::vector<const EmulatedKernel*> kernels = compile(code, threads, report);
    for (std::size_t i = 0; i < kernels.size(); ++i) by_key_.emplace(missing[i]->key, kernels[i]);
    std::vector<const void*> functions;
    for (const codegen::KernelSource& source : sources) functions.push_back(by_key_.at(source.key));
    return functions;
  }

  const void* load_module(const llvm::Module& device_module) override {
    verify_device_module(device_module);
    const std::string hash = module_hash(device_module);
    const std::lock_guard lock(mutex_);
    if (const auto known = by_hash_.find(hash); known != by_hash_.end()) return known->second;
    llvm::LLVMContext context;
    std::vector<HostCode> code;
    code.push_back(lower_to_host(parse_device_module(context, module_text(device_module))));
    rkernel::CompileReport report;
    return compile(code, 1, report).front();
  }

  std::string module_hash_of(const void* function) const override {
    if (const EmulatedKernel* kernel = launcher_->find(function)) return kernel->hash;
    throw Error(ErrorKind::internal, "not a function of this emulator");
  }
  std::vector<FaultReport> take_reports() override { return launcher_->take_reports(); }
  EmulatorCounts counts() const override { return launcher_->counts(); }
  std::vector<KernelCounters> take_counters() override { return launcher_->take_counters(); }
  void set_counting(bool counting) override { launcher_->set_counting(counting); }
  void set_block_order(const BlockOrder& order) override { launcher_->set_block_order(order); }
  bool count_launches() override {
    set_counting(true);
    return true;
  }
  std::vector<rkernel::LaunchReport> take_launch_reports() override {
    std::vector<rkernel::LaunchReport> reports;
    for (const KernelCounters& counters : take_counters())
      reports.push_back(launch_report(machine(), counters));
    return reports;
  }

 private:
  static codegen::CodeStoreOptions store_options(const std::string& cache_dir) {
    codegen::CodeStoreOptions options;
    options.cache_dir = cache_dir;
    options.effort = codegen::CodeEffort::Quick;  // its time goes to the checks that it calls
    return options;
  }

  std::vector<const EmulatedKernel*> compile(std::vector<HostCode>& code, int threads,
                                             rkernel::CompileReport& report) {
    std::vector<codegen::KernelSource> sources;
    for (HostCode& one : code) sources.push_back(std::move(one.source));
    codegen::LinkedCode linked = code_->resolve(sources, threads, report);
    held_.insert(held_.end(), linked.keep.begin(), linked.keep.end());
    std::vector<const EmulatedKernel*> kernels;
    for (std::size_t i = 0; i < code.size(); ++i) {
      code[i].kernel.entry = reinterpret_cast<Entry>(linked.addresses[i]);
      kernels.push_back(launcher_->add(std::move(code[i].kernel)));
      by_hash_.emplace(kernels.back()->hash, kernels.back());
    }
    return kernels;
  }

  std::shared_ptr<EmulatedMemory> memory_;
  std::shared_ptr<Launcher> launcher_;
  std::shared_ptr<codegen::CodeStore> code_;
  std::vector<std::shared_ptr<const void>> held_;  ///< functions of `code_`
  std::mutex mutex_;
  std::map<std::string, const EmulatedKernel*> by_key_, by_hash_;
};

}  // namespace

std::shared_ptr<Emulator> make_emulator(const EmulatorOptions& options) {
  return std::make_shared<EmulatorDevice>(options);
}

}  // namespace dyn::ptx
