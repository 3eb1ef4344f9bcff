// The pipeline from text to a model that can run.

#include <set>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/text/text.hpp"
#include "src/base/clock.hpp"
#include "src/base/dump.hpp"
#include "src/rkernel/problem/lower.hpp"
#include "src/runtime/load/model_impl.hpp"
#include "src/runtime/load/target_factory.hpp"
#include "src/runtime/system/thread_count.hpp"
#include "src/runtime/weights/weight_loader.hpp"
#include "src/runtime/weights/weight_source.hpp"

namespace dyn::runtime {
namespace {

int chosen_threads(const Options& options) {
  constexpr int most_threads = 1024;
  if (options.threads < 0 || options.threads > most_threads) {
    throw Error(ErrorKind::user, fmt::format("Options::threads is {}; it must be in 0..{}",
                                             options.threads, most_threads));
  }
  return options.threads == 0 ? default_threads() : options.threads;
}

std::vector<PortInfo> port_infos(const graph::Module& module,
                                 const std::vector<graph::ValueId>& values,
                                 const std::vector<std::string>* names) {
  std::vector<PortInfo> ports;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const graph::Value& value = module.value(values[i]);
    ports.push_back({names != nullptr ? (*names)[i] : value.name, value.type.dtype,
                     to_string(value.type.dims)});
  }
  return ports;
}

/// One load; the parts in the order in which they need each other.
class Loader {
 public:
  Loader(Model::Impl& impl, const LoadRequest& request, const Dump& dump)
      : impl_(impl), request_(request), dump_(dump) {}

  void load(const TargetFactory& factory) {
    const Clock::time_point start = Clock::now();
    check_device_options(impl_.options);
    read_text();
    if (graph::defines_dims(impl_.module)) {
      load_parts(factory);
      impl_.report.total =
          seconds_since(start) - impl_.report.random_weights - impl_.report.machine;
      return;
    }
    if (!is_reference()) {
      impl_.target = factory(impl_.options, impl_.threads, dump_);
      make_problems();
      compile();
    }
    impl_.states = graph::appended_states(impl_.module);
    if (request_.segment == nullptr) impl_.binder.emplace(impl_.module);
    place_weights();
    if (!impl_.only_described) load_weights();
    wire();
    impl_.planner.emplace(impl_.module, impl_.wiring, impl_.kernels, impl_.threads);
    impl_.plans.emplace(impl_.options.plan_cache_bytes);
    impl_.runs = std::make_unique<RunPool>(impl_.threads, impl_.device);
    LoadReport& report = impl_.report;
    report.total = seconds_since(start) - report.random_weights - report.machine;
    log();
  }

 private:
  bool is_reference() const { return impl_.options.device == reference_device; }

  void read_text() {
    const Clock::time_point start = Clock::now();
    impl_.module = graph::parse(request_.text, request_.source_name);
    if (request_.segment != nullptr) graph::keep_segment(impl_.module, *request_.segment);
    impl_.inputs = port_infos(impl_.module, impl_.module.inputs, nullptr);
    impl_.outputs = port_infos(impl_.module, impl_.module.outputs, &impl_.module.output_names);
    impl_.report.parse = seconds_since(start);
  }

  /// A segment is read from the whole text: symbols and names mean the same in all.
  void load_parts(const TargetFactory& factory) {
    impl_.binder.emplace(impl_.module);
    impl_.segments = load_segments(impl_.module, [&](const graph::Segment& segment) {
      LoadRequest request = request_;
      request.segment = &segment;
      request.decided.clear();
      std::shared_ptr<const Model> model = Model::load(request, impl_.options, factory, dump_);
      add(impl_.report, model->load_report());
      return model;
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

  void make_problems() {
    const Clock::time_point start = Clock::now();
    impl_.fusion =
        graph::run_pipeline(impl_.module, pipeline_options(*impl_.target), pass_dumper());
    impl_.problems = rkernel::lower(impl_.module, impl_.fusion);
    if (dump_.wants(DumpKind::Problems)) {
      for (const rkernel::Problem& problem : impl_.problems)
        dump(problem.name + ".problem.txt", to_string(problem));
    }
    impl_.report.parse += seconds_since(start);
  }

  /// Segments of one model have files of their own: each is told by its first node.
  void dump(const std::string& name, const std::string& text) const {
    const graph::Segment* segment = request_.segment;
    const std::string owner = segment != nullptr && !segment->nodes.empty()
                                  ? fmt::format("segment{}-", segment->nodes.front())
                                  : std::string();
    dump_.write(owner + name, text);
  }

  /// Files of the module's text, numbered in the order of the passes.
  graph::PassObserver pass_dumper() {
    if (!dump_.wants(DumpKind::Passes)) return {};
    dump("0-parse.dyn", graph::print(impl_.module));
    return [this, number = 0](const graph::Pass& pass, const graph::Module& module) mutable {
      dump(fmt::format("{}-{}.dyn", ++number, pass.name), graph::print(module));
    };
  }

  /// PTX; assembly of the CPU is written where it is made (CodeStoreOptions::dump).
  void dump_listings() const {
    if (!dump_.wants(DumpKind::Assembly) && !dump_.wants(DumpKind::Llvm)) return;
    for (const auto& kernel : impl_.kernels) {
      for (const rkernel::CodeListing& listing : kernel->listings()) {
        if (dump_.wants(DumpKind::Assembly)) dump(listing.name + ".ptx", listing.text);
        if (dump_.wants(DumpKind::Llvm)) dump(listing.name + ".ll", listing.ir);
      }
    }
  }

  rkernel::BufferFacts buffer_facts() const {
    std::set<graph::ValueId> ports(impl_.module.inputs.begin(), impl_.module.inputs.end());
    ports.insert(impl_.module.states.begin(), impl_.module.states.end());
    for (const graph::ValueId output : impl_.module.outputs)
      ports.insert(impl_.fusion.views.at(static_cast<std::size_t>(output)).base);
    return {[this](graph::ValueId id) {
              return impl_.module.value(id).kind == graph::ValueKind::Weight;
            },
            [ports = std::move(ports)](graph::ValueId id) { return ports.contains(id); },
            [this](graph::ValueId id) {
              return impl_.module.value(id).kind == graph::ValueKind::State;
            }};
  }

  void compile() {
    rkernel::Prepared prepared = impl_.target->prepare(std::move(impl_.problems), buffer_facts());
    const rkernel::CompileReport& compiled = prepared.report;
    impl_.problems = std::move(prepared.problems);
    impl_.kernels = std::move(prepared.kernels);
    if (impl_.kernels.size() != impl_.problems.size())
      throw Error(ErrorKind::internal, "the target made another number of kernels than of groups");
    for (std::size_t group = 0; group < impl_.kernels.size(); ++group) {
      if (impl_.kernels[group] == nullptr)
        throw Error(ErrorKind::internal,
                    fmt::format("target {} has no kernel for '{}'", impl_.target->name(),
                                impl_.problems[group].name));
      impl_.spaces.push_back(impl_.kernels[group]->space());
    }
    dump_listings();
    impl_.device = impl_.target->device();
    impl_.only_described = impl_.device == nullptr && !groups_in(rkernel::Space::Device).empty();
    impl_.compiled_at_load = impl_.target->functions_compiled();
    LoadReport& report = impl_.report;
    report.compile = compiled.compile_seconds;
    report.measure = compiled.measure_seconds;
    report.machine = compiled.machine_seconds;
    report.kernels = compiled.kernels;
    report.kernels_compiled = compiled.compiled;
    report.kernels_from_disk = compiled.from_disk;
  }

  std::vector<std::size_t> groups_in(rkernel::Space space) const {
    std::vector<std::size_t> groups;
    for (std::size_t group = 0; group < impl_.spaces.size(); ++group) {
      if (impl_.spaces[group] == space) groups.push_back(group);
    }
    return groups;
  }

  void place_weights() {
    if (is_reference()) {
      impl_.weights = Weights(impl_.module);
    } else {
      impl_.weights =
          Weights(impl_.module, impl_.problems, groups_in(rkernel::Space::Host), *impl_.target);
      impl_.device_weights =
          DeviceWeights(impl_.module, impl_.problems, groups_in(rkernel::Space::Device));
    }
    impl_.report.weight_bytes = impl_.weights.bytes() + impl_.device_weights.bytes();
  }

  void load_weights() {
    const Clock::time_point start = Clock::now();
    const WeightSources sources(impl_.module, request_, impl_.options);
    Weights::Times times;
    WeightLoader(impl_.module, sources, impl_.options, impl_.threads)
        .load(impl_.weights, times, impl_.report);
    if (impl_.device)
      impl_.device_weights.upload(impl_.module, *impl_.device, sources, impl_.threads, times);
    impl_.report.random_weights = times.random;
    impl_.report.weights = seconds_since(start) - times.random - impl_.report.weights_write;
  }

  void wire() {
    if (is_reference()) return;
    const auto host = [&](std::size_t problem, std::size_t operand) {
      return impl_.weights.operand(impl_.problems[problem], operand);
    };
    const auto device = [&](std::size_t problem, std::size_t operand) {
      return impl_.device_weights.operand(impl_.problems[problem].operands[operand]);
    };
    impl_.wiring = Wiring(impl_.module, impl_.fusion, impl_.problems, impl_.spaces, {host, device});
  }

  void log() const {
    if (!impl_.options.log) return;
    const LoadReport& report = impl_.report;
    impl_.options.log(
        LogLevel::info,
        fmt::format("loaded '{}' in {:.0f} ms: {} groups ({} on a device), {} kernels ({} "
                    "compiled, {} from disk), {:.1f} MB of weights, {:.1f} MB of them mapped",
                    request_.source_name, report.total * 1e3, impl_.problems.size(),
                    groups_in(rkernel::Space::Device).size(), report.kernels,
                    report.kernels_compiled, report.kernels_from_disk,
                    static_cast<double>(report.weight_bytes) / 1e6,
                    static_cast<double>(report.weight_bytes_mapped) / 1e6));
  }

  Model::Impl& impl_;
  const LoadRequest& request_;
  const Dump& dump_;
};

}  // namespace

std::shared_ptr<const Model> Model::load(const LoadRequest& request, const Options& options) {
  return load(request, with_usable_device(options), make_target);
}

std::shared_ptr<const Model> Model::load(const LoadRequest& request, const Options& options,
                                         const TargetFactory& factory) {
  return load(request, options, factory, std::nullopt);
}

std::shared_ptr<const Model> Model::load(const LoadRequest& request, const Options& options,
                                         const TargetFactory& factory,
                                         const std::optional<Dump>& dump) {
  auto impl = std::make_unique<Impl>();
  try {
    impl->options = options;
    impl->decided = request.decided;
    impl->threads = chosen_threads(options);
    impl->by_oracle = rkernel::policy_named(options.policy) == rkernel::Policy::Oracle;
    Loader(*impl, request, dump ? *dump : Dump::from_environment()).load(factory);
  } catch (const Error& error) {
    throw error.within(fmt::format("loading '{}'", request.source_name));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, "no memory", {fmt::format("loading '{}'", request.source_name)});
  }
  return std::shared_ptr<const Model>(new Model(std::move(impl)));
}

}  // namespace dyn::runtime
