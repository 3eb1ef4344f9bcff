#include "src/runtime/load/target_factory.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/text/suggest.hpp"
#include "src/runtime/load/fallback_target.hpp"
#include "src/runtime/load/option_values.hpp"
#include "src/runtime/system/cache_dir.hpp"
#include "src/runtime/tuning/tuning_file.hpp"
#include "targets/cpu/cpu_target.hpp"
#include "targets/llvm/jit/code_memory.hpp"
#include "targets/ptx/cuda/device.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ptx_target.hpp"

namespace dyn::runtime {
namespace {

constexpr auto all = [](const auto&) { return true; };

/// "f32, f16, bf16 and i8": the names of rows that fit.
template <class Row, class Fits>
std::string listed(std::span<const Row> rows, Fits fits) {
  std::vector<std::string_view> names;
  for (const Row& row : rows) {
    if (fits(row)) names.push_back(row.name);
  }
  return graph::join(names, " and ");
}

const PrecisionInfo& checked_precision(const std::string& name) {
  if (const PrecisionInfo* precision = find_precision(name)) return *precision;
  throw Error(ErrorKind::user, fmt::format("there is no precision '{}'; there are {}", name,
                                           listed(precisions(), all)));
}

rkernel::Policy find_policy(const std::string& name) {
  if (const auto policy = rkernel::policy_named(name)) return *policy;
  throw Error(ErrorKind::user,
              fmt::format("there is no policy '{}'; there are {}", name, rkernel::policy_names()));
}

bool is_gpu(const std::string& device) {
  const DeviceInfo* known = find_device(device);
  return known != nullptr && known->is_gpu;
}

bool is_index(const std::string& gpu) {
  return std::all_of(gpu.begin(), gpu.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

int checked_group(const Options& options) {
  const int group = options.weight_group;
  if (std::ranges::find(rkernel::coding_blocks, group) == std::end(rkernel::coding_blocks))
    throw Error(ErrorKind::user, fmt::format("weights are not kept in groups of {}; there are {}",
                                             group, fmt::join(rkernel::coding_blocks, ", ")));
  return group;
}

/// How weights are kept on the CPU.
rkernel::Factors weights_of(const Options& options) {
  const DType multiplied = checked_precision(options.precision).dtype;
  if (options.weights.empty()) return multiplied;
  const WeightsInfo* const weights = find_weights(options.weights);
  if (weights == nullptr)
    throw Error(ErrorKind::user, fmt::format("weights cannot be kept in '{}'; there are {}",
                                             options.weights, listed(weight_forms(), all)));
  if (multiplied != DType::f32 && weights->dtype != multiplied && weights->dtype != DType::i4)
    throw Error(ErrorKind::unsupported,
                fmt::format("weights kept in {} cannot be multiplied in precision '{}'; leave "
                            "Options::weights empty, or use weights 'i4' or precision 'f32'",
                            options.weights, options.precision));
  if (weights->dtype != DType::i4) return weights->dtype;
  return rkernel::Factors(rkernel::Coding{checked_group(options), DType::f16});
}

/// What the device that the options name takes of their file.
std::shared_ptr<const rkernel::Tuning> tuning_of(const Options& options) {
  if (options.tuning.empty()) return nullptr;
  const rkernel::Policy policy = find_policy(options.policy);
  const bool is_dyn = policy == rkernel::Policy::Dyn || policy == rkernel::Policy::Oracle;
  if (!is_dyn && !tuned_as(policy))
    throw Error(ErrorKind::user,
                fmt::format("Options::tuning is '{}', but the policy is '{}'; policies 'dyn' and "
                            "'oracle' take tuned programs, {} tuned micro-kernels",
                            options.tuning, options.policy, "'tscompiler' and 'dietcode'"));
  return load_tuning(options.tuning);
}

/// A target that was made, so that a file of another machine is told as one.
template <class Made>
Made with_content(Made target, const rkernel::Tuning* tuning, const Options& options, int threads) {
  if (tuning != nullptr) require_content(*tuning, find_policy(options.policy), threads);
  return target;
}

std::shared_ptr<rkernel::Target> make_cpu(const Options& options, int threads, DType precision,
                                          const rkernel::Factors& weights, const Dump& dump) {
  cpu::TargetOptions target;
  target.isa = options.isa;
  target.cache_dir = resolve_cache_dir(options.cache_dir);
  target.threads = threads;
  target.precision = precision;
  target.weights = weights;
  target.deterministic = options.deterministic;
  target.policy = find_policy(options.policy);
  target.vendor = options.vendor;
  if (options.device == "cpu") target.tuning = tuning_of(options);
  target.perf_map = options.perf_map;
  target.debugger = options.debugger;
  target.log = options.log;
  target.dump = dump;
  return with_content(cpu::make_cpu_target(target), target.tuning.get(), options, threads);
}

}  // namespace

void check_device_options(const Options& options) {
  find_policy(options.policy);
  const PrecisionInfo& precision = checked_precision(options.precision);
  if (options.device != "cpu" && !options.weights.empty()) {
    throw Error(ErrorKind::unsupported,
                fmt::format("weights are kept in {} on device 'cpu' alone, not on '{}'",
                            options.weights, options.device));
  }
  if (!options.tuning.empty() && options.device == reference_device)
    throw Error(ErrorKind::unsupported,
                fmt::format("device '{}' takes no tuned programs: it has no kernels to choose "
                            "from; leave Options::tuning empty",
                            options.device));
  if (is_gpu(options.device)) {
    if (precision.on_gpu) return;
    throw Error(
        ErrorKind::unsupported,
        fmt::format("device '{}' has no kernels for precision '{}'; it has {}; or use device 'cpu'",
                    options.device, precision.name,
                    listed(precisions(), [](const PrecisionInfo& each) { return each.on_gpu; })));
  }
  if (!options.gpu.empty()) {
    throw Error(ErrorKind::user, fmt::format("GPU '{}' is asked for, but device is '{}'; GPUs "
                                             "belong to devices 'cuda' and 'emulator'",
                                             options.gpu, options.device));
  }
  if (options.device == "cpu" ? !precision.on_cpu
                              : options.precision != precisions().front().name) {
    throw Error(ErrorKind::unsupported,
                fmt::format("device '{}' does not multiply in precision '{}'; it needs {}",
                            options.device, precision.name,
                            precision.on_cpu ? "another device" : "device 'cuda' or 'emulator'"));
  }
  if (options.device == "cpu") weights_of(options);
}

/// The device, and the machine that kernels are chosen for. A described GPU on device "cuda" is a
/// machine without a device.
struct GraphTargets::Gpu {
  explicit Gpu(const Options& options);

  std::string cache_dir = {};  ///< of figures that are measured
  bool measures = false;
  std::shared_ptr<ptx::PtxDevice> device;
  choice::GpuMachine machine;
};

GraphTargets::Gpu::Gpu(const Options& options) {
  constexpr const char* emulated_by_default = "a100";
  if (options.device == "emulator") {
    ptx::EmulatorOptions emulator;
    emulator.machine =
        ptx::gpu_by_name_or_file(options.gpu.empty() ? emulated_by_default : options.gpu);
    emulator.cache_dir = resolve_cache_dir(options.cache_dir);
    device = ptx::make_emulator(emulator);
  } else if (is_index(options.gpu)) {
    cache_dir = resolve_cache_dir(options.cache_dir);
    device = ptx::open_cuda_device(options.gpu, cache_dir);
    measures = !options.deterministic;
  } else {
    machine = ptx::gpu_by_name_or_file(options.gpu);
    return;
  }
  machine = device->machine();
}

DescribedContractions described_contractions(const Options& options) {
  check_device_options(options);
  const PrecisionInfo& precision = checked_precision(options.precision);
  const GraphTargets::Gpu gpu(options);
  return {gpu.machine,
          choice::kinds_of(choice::gpu_tiles(gpu.machine, precision.dtype, precision.allow_tf32))};
}

std::shared_ptr<const GraphTargets::Gpu> GraphTargets::gpu(const Options& options) {
  const std::lock_guard lock(mutex_);
  if (!gpu_) gpu_ = std::make_shared<const Gpu>(options);
  return gpu_;
}

std::shared_ptr<rkernel::Device> GraphTargets::device(const Options& options) {
  check_device_options(options);
  return is_gpu(options.device) ? gpu(options)->device : nullptr;
}

std::shared_ptr<rkernel::Target> GraphTargets::make(const Options& options, int threads,
                                                    const Dump& dump) {
  if (options.device == "cpu")
    return make_cpu(options, threads, checked_precision(options.precision).dtype,
                    weights_of(options), dump);
  if (!is_gpu(options.device)) {
    throw Error(ErrorKind::user, fmt::format("there is no device '{}'; this build has {}",
                                             options.device, listed(devices(), all)));
  }
  const std::shared_ptr<const Gpu> gpu = this->gpu(options);
  const PrecisionInfo& precision = checked_precision(options.precision);
  ptx::TargetOptions target;
  target.device = gpu->device;
  target.machine = gpu->machine;
  target.measures = gpu->measures;
  target.cache_dir = gpu->cache_dir;
  target.precision = precision.dtype;
  target.allow_tf32 = precision.allow_tf32;
  target.policy = find_policy(options.policy);
  target.tuning = tuning_of(options);
  target.threads = threads;
  target.log = options.log;
  return with_fallback(with_content(ptx::make_ptx_target(target), target.tuning.get(), options, 0),
                       [options, threads, dump] {
                         return make_cpu(options, threads, DType::f32, DType::f32, dump);
                       });
}

TargetFactory GraphTargets::factory() {
  return [targets = std::make_shared<GraphTargets>()](const Options& options, int threads,
                                                      const Dump& dump) {
    return targets->make(options, threads, dump);
  };
}

std::shared_ptr<rkernel::Target> make_target(const Options& options, int threads,
                                             const Dump& dump) {
  return GraphTargets().make(options, threads, dump);
}

graph::PipelineOptions pipeline_options(const rkernel::Target& target) {
  return {.decompose = {.keep_attention = target.fuses_attention(),
                        .attention_depth = target.most_attention_depth(),
                        .key_dtypes = target.key_dtypes(),
                        .integer_factor = target.integer_factor(),
                        .multiplies_bfloats = target.multiplies_bfloats(),
                        .codes_weights = target.codes_weights(),
                        .code_blocks = target.code_blocks()},
          .products = target.products(),
          .fuse = target.fuse_options()};
}

Options with_usable_device(Options options) {
  if (options.device != "cpu") return options;
  if (const std::string refusal = codegen::code_memory_refusal(); !refusal.empty()) {
    if (options.log)
      options.log(LogLevel::warning, refusal + "; running on the slow reference instead");
    options.device = reference_device;
    if (checked_precision(options.precision).on_cpu)
      options.precision = precisions().front().name;  // it keeps all weights as they are
    options.weights.clear();
  }
  return options;
}

}  // namespace dyn::runtime
