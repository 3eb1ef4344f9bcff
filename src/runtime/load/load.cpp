// The pipeline from text to a model that can run.

#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/dims/dim_info.hpp"
#include "graph/ops/state_rules.hpp"
#include "graph/passes/check_values.hpp"
#include "graph/passes/segments.hpp"
#include "graph/text/text.hpp"
#include "src/base/clock.hpp"
#include "src/base/crew.hpp"
#include "src/base/dump.hpp"
#include "src/base/load_progress.hpp"
#include "src/runtime/build/plugins.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/executables/reference_executable.hpp"
#include "src/runtime/executables/segmented_executable.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/load/option_values.hpp"
#include "src/runtime/system/thread_count.hpp"
#include "src/runtime/tuning/tuning_file.hpp"

namespace dyn::runtime {
namespace {

int chosen_threads(const Options& options) {
  if (options.threads < 0 || options.threads > most_threads) {
    throw Error(ErrorKind::user, fmt::format("Options::threads is {}; it must be in 0..{}",
                                             options.threads, most_threads));
  }
  const int lent = options.executor ? lent_threads(*options.executor) : 0;
  if (options.threads > 0) return options.threads;
  return options.executor ? lent + 1 : default_threads();
}

LoadRequest with_budget(LoadRequest request, const Options& options) {
  if (!request.device_budget) request.device_budget = make_device_budget(options);
  if (!request.memory_budget) request.memory_budget = make_memory_budget(options);
  return request;
}

std::vector<PortInfo> port_infos(const graph::Module& module,
                                 const std::vector<graph::ValueId>& values,
                                 const std::vector<std::string>* names,
                                 const std::vector<graph::Texts>& texts) {
  std::vector<PortInfo> ports;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const graph::Value& value = module.value(values[i]);
    ports.push_back({names != nullptr ? (*names)[i] : value.name, value.type.dtype,
                     to_string(value.type.dims), texts.empty() ? nullptr : texts[i],
                     graph::infos_of(value.type.dims)});
  }
  return ports;
}

std::vector<DimInfo> dim_infos(const graph::Module& module) {
  std::vector<DimInfo> dims;
  for (const int symbol : module.declared_symbols)
    dims.push_back(graph::info_of(*module.dims->find_symbol(module.dims->info(symbol).name)));
  return dims;
}

std::vector<StateInfo> state_infos(const graph::Module& module) {
  std::vector<StateInfo> states;
  for (const graph::AppendedState& state : graph::appended_states(module)) {
    const graph::Value& value = module.value(state.state);
    states.push_back({value.name, value.type.dtype, to_string(value.type.dims),
                      graph::infos_of(value.type.dims), state.axis});
  }
  return states;
}

ModelMetadata metadata_of(const graph::Module& module, const LoadRequest& request) {
  if (!request.metadata.format.empty()) return request.metadata;
  ModelMetadata metadata;
  metadata.format = "dyn";
  metadata.source = request.source_name;
  metadata.graph = module.name;
  return metadata;
}

/// Loads a model, or one segment of it. `dump`: nothing where the environment is still to be asked.
std::shared_ptr<const Model> load_model(const LoadRequest& request, const Options& options,
                                        const TargetFactory& factory,
                                        const std::optional<Dump>& dump);

/// One load, of parts in the order in which they need each other.
class Loader {
 public:
  Loader(const LoadRequest& request, const Options& options, const TargetFactory& factory,
         const std::optional<Dump>& dump)
      : request_(with_budget(request, options)),
        options_(options),
        factory_(factory),
        threads_(chosen_threads(options)),
        dump_(dump ? *dump : Dump::from_environment()) {}

  std::shared_ptr<const Model> load() {
    const Clock::time_point start = Clock::now();
    check_device_options(options_);
    graph::Module module = read_text();
    const bool is_segmented = graph::defines_dims(module);
    std::unique_ptr<const Executable> executable =
        is_segmented ? segmented(std::move(module)) : whole(std::move(module));
    report_.total = seconds_since(start) - report_.random_weights - report_.machine;
    if (!is_segmented) log(executable->groups());
    return std::make_shared<const Model>(std::move(executable), report_);
  }

 private:
  graph::Module read_text() {
    report_progress({"parse", 0, 1});
    const Clock::time_point start = Clock::now();
    graph::Module module =
        request_.segment != nullptr ? graph::module_of(*request_.whole, *request_.segment)
        : request_.body != nullptr  ? graph::Module(*request_.body)
        : request_.module != nullptr
            ? graph::Module(*request_.module)
            : graph::parse(request_.text, request_.source_name, options_.operators.set());
    module.remarks = request_.remarks;
    if (!options_.tuning.empty() && request_.segment == nullptr && request_.body == nullptr)
      require_same_model(options_.tuning, module.name);
    if (options_.strict && request_.segment == nullptr) graph::check_values(module);
    report_.parse = seconds_since(start);
    return module;
  }

  ModelInfo info_of(const graph::Module& module) const {
    return {options_,
            threads_,
            port_infos(module, module.inputs, nullptr, module.input_texts),
            port_infos(module, module.outputs, &module.output_names, module.output_texts),
            request_.decided,
            metadata_of(module, request_),
            dim_infos(module),
            state_infos(module),
            request_.memory_budget};
  }

  /// A model that runs at once.
  std::unique_ptr<const Executable> whole(graph::Module module) {
    ModelInfo info = info_of(module);
    if (options_.device == reference_device)
      return std::make_unique<ReferenceExecutable>(std::move(info), std::move(module), request_,
                                                   report_);
    return std::make_unique<PlannedExecutable>(std::move(info), std::move(module),
                                               factory_(options_, threads_, dump_), request_, dump_,
                                               report_);
  }

  /// Options whose log hears each line once: segments have the same to say.
  static Options with_each_line_once(Options options) {
    if (!options.log) return options;
    struct Said {
      std::mutex mutex;
      std::set<std::string, std::less<>> lines;
    };
    options.log = [log = options.log, said = std::make_shared<Said>()](LogLevel level,
                                                                       std::string_view line) {
      {
        const std::lock_guard lock(said->mutex);
        if (!said->lines.emplace(line).second) return;
      }
      log(level, line);
    };
    return options;
  }

  /// Symbols and names mean the same in all segments.
  std::unique_ptr<const Executable> segmented(graph::Module module) {
    ModelInfo info = info_of(module);
    const Options options = with_each_line_once(options_);
    const auto load = [&](LoadRequest request) {
      request.text.clear();
      request.decided.clear();
      request.metadata = {};
      request.gives_files = false;  // another part may read the same weight
      std::shared_ptr<const Model> model = load_model(request, options, factory_, dump_);
      add(report_, model->load_report());
      return model;
    };
    return std::make_unique<SegmentedExecutable>(
        std::move(info), std::move(module),
        [&](const graph::Module& whole, const graph::Segment& segment) {
          LoadRequest request = request_;
          request.whole = &whole;
          request.segment = &segment;
          request.body = nullptr;
          return load(std::move(request));
        },
        [&](const graph::Module& body) {
          LoadRequest request = request_;
          request.body = &body;
          return load(std::move(request));
        });
  }

  static void add(LoadReport& sum, const LoadReport& part) {
    sum.compile += part.compile;
    sum.measure += part.measure;
    sum.weights += part.weights;
    sum.random_weights += part.random_weights;
    sum.machine += part.machine;
    sum.weights_write += part.weights_write;
    sum.kernels += part.kernels;
    sum.kernels_compiled += part.kernels_compiled;
    sum.kernels_from_disk += part.kernels_from_disk;
    sum.weight_bytes += part.weight_bytes;
    sum.weight_bytes_mapped += part.weight_bytes_mapped;
    sum.weights_from_disk = sum.weights_from_disk || part.weights_from_disk;
  }

  void log(const CompiledGroups& groups) const {
    if (!options_.log) return;
    options_.log(
        LogLevel::debug,
        fmt::format("'{}': {:.1f} ms to parse and to run the passes, {:.1f} to compile, "
                    "{:.1f} to measure, {:.1f} for weights, {:.1f} to keep them on disk",
                    request_.source_name, report_.parse * 1e3, report_.compile * 1e3,
                    report_.measure * 1e3, report_.weights * 1e3, report_.weights_write * 1e3));
    options_.log(
        LogLevel::info,
        fmt::format("loaded '{}' in {:.0f} ms: {} groups ({} on a device), {} kernels ({} "
                    "compiled, {} from disk), {:.1f} MB of weights, {:.1f} MB of them mapped",
                    request_.source_name, report_.total * 1e3, groups.problems.size(),
                    groups.in(rkernel::Space::Device).size(), report_.kernels,
                    report_.kernels_compiled, report_.kernels_from_disk,
                    static_cast<double>(report_.weight_bytes) / 1e6,
                    static_cast<double>(report_.weight_bytes_mapped) / 1e6));
  }

  const LoadRequest request_;
  const Options& options_;
  const TargetFactory& factory_;
  const int threads_;
  const Dump dump_;
  LoadReport report_;
};

std::shared_ptr<const Model> load_model(const LoadRequest& request, const Options& options,
                                        const TargetFactory& factory,
                                        const std::optional<Dump>& dump) {
  try {
    return Loader(request, options, factory, dump).load();
  } catch (const Error& error) {
    throw error.within(fmt::format("loading '{}'", request.source_name));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, "no memory", {fmt::format("loading '{}'", request.source_name)});
  }
}

}  // namespace

std::shared_ptr<DeviceBudget> make_device_budget(const Options& options) {
  if (options.device_memory == 0) return nullptr;
  return std::make_shared<DeviceBudget>(options.device_memory);
}

std::shared_ptr<MemoryBudget> make_memory_budget(const Options& options) {
  if (options.memory_budget < 0) {
    throw Error(ErrorKind::user,
                fmt::format("Options::memory_budget is {}; it must be 0, which is none, or more",
                            options.memory_budget));
  }
  if (options.memory_budget == 0) return nullptr;
  return std::make_shared<MemoryBudget>(static_cast<std::size_t>(options.memory_budget));
}

void Model::measure_machine(const Options& options) {
  if (options.device != "cpu") return;
  const LentThreads lent(options.executor.get());
  try {
    make_target(options, chosen_threads(options), {})->prepare({}, {});
  } catch (const Error&) {
    // Loading says it, with the model's name.
  }
}

std::shared_ptr<const Model> Model::load(const LoadRequest& request, const Options& options) {
  return load(request, with_usable_device(options), GraphTargets::factory());
}

std::shared_ptr<const Model> Model::load(const LoadRequest& request, const Options& options,
                                         const TargetFactory& factory) {
  const LentThreads lent(options.executor.get());
  const ProgressListener listener(options.progress);
  return load_model(request, with_plugins(options), factory, std::nullopt);
}

}  // namespace dyn::runtime
