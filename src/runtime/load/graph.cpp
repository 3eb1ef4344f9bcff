// The public handles.

#include "dyn/session.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/builder.hpp"
#include "dyn/device.hpp"
#include "src/base/crew.hpp"
#include "src/base/host_file.hpp"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/reader/read_model_files.hpp"
#include "src/runtime/build/builder_state.hpp"
#include "src/runtime/build/plugins.hpp"
#include "src/runtime/device/open_device.hpp"
#include "src/runtime/load/describe.hpp"
#include "src/runtime/load/memory_reader.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/load/model_format.hpp"
#include "src/runtime/run/call_state.hpp"
#include "src/runtime/run/run_named.hpp"
#include "src/runtime/structures/undecided_executable.hpp"
#include "src/runtime/structures/variant_executable.hpp"
#include "src/runtime/system/fp_state.hpp"
#include "src/runtime/system/stack.hpp"
#include "src/runtime/weights/read_files.hpp"

namespace dyn {

using runtime::CallState;
using runtime::LoadRequest;
using runtime::Model;

const Tensor& Outputs::operator[](std::string_view name) const {
  for (const auto& [candidate, tensor] : tensors_) {
    if (candidate == name) return tensor;
  }
  throw Error(ErrorKind::user, fmt::format("the model has no output '{}'", name));
}

const Tensor& Outputs::operator[](std::size_t index) const {
  if (index < tensors_.size()) return tensors_[index].second;
  throw Error(ErrorKind::user,
              fmt::format("there is no output number {}; the model has {}", index, size()));
}

namespace {

/// The caller's memory may be gone when the model runs.
Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) std::memcpy(copy.raw(), tensor.raw(), tensor.bytes());
  return copy;
}

/// The name that an imported text has for its file of weights.
constexpr const char* onnx_weights = "weights.safetensors";

Options with_own_inputs(Options options) {
  for (auto& [name, tensor] : options.known_inputs) tensor = copy_of(tensor);
  return options;
}

/// An ONNX file that runs may import again.
struct OnnxSource {
  OnnxSource(std::unique_ptr<onnx::ModelFiles> model, const Options& load_options)
      : files(std::move(model)),
        options(runtime::with_plugins(with_own_inputs(runtime::with_usable_device(load_options)))),
        device_budget(runtime::make_device_budget(options)),
        memory_budget(runtime::make_memory_budget(options)) {}

  /// The device of all imports; nullptr: none.
  std::shared_ptr<rkernel::Device> open_device() {
    try {
      return targets.device(options);
    } catch (const Error& error) { throw error.within(fmt::format("loading '{}'", files->path())); }
  }

  const std::unique_ptr<onnx::ModelFiles> files;
  std::mutex mutex;  ///< of the files
  const Options options;
  // All imports share these:
  const std::shared_ptr<runtime::DeviceBudget> device_budget;
  const std::shared_ptr<runtime::MemoryBudget> memory_budget;
  runtime::GraphTargets targets;
};

/// The least of an ONNX model that can be loaded without these values, or the names of the inputs
/// whose values or ranks it needs besides.
struct LoadedOnnx {
  std::shared_ptr<const Model> model;
  onnx::Imported imported;
};

/// Gives what `work` gives, whatever the caller has set for its floating point; Error(device) where
/// there is no memory for it.
template <class Work>
auto shielded(const char* what, const Work& work) {
  const runtime::DefaultFloatingPoint floating_point;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, fmt::format("no memory for {}", what));
  }
}

void check_no_free_dims(const Options& options) {
  if (options.free_dims.empty()) return;
  throw Error(ErrorKind::user, fmt::format("Options::free_dims frees dims of \"{}\", but the model "
                                           "is no ONNX file: its text names its dims itself",
                                           options.free_dims.begin()->first));
}

template <class Load>
std::shared_ptr<const Model> loaded(const Options& options, const Load& load) {
  const LentThreads lent(options.executor.get());
  return shielded("loading", [&] {
    std::shared_ptr<const Model> model;
    runtime::call_with_stack([&] { model = load(); });
    return model;
  });
}

/// An ONNX model is imported in memory. Its text is dyn's own, with the node that each statement is
/// from, which errors name.
std::shared_ptr<const Model> load_imported(onnx::Imported& imported, OnnxSource& source) {
  const std::string weights = imported.weights.take_file();
  const std::map<std::string, std::string_view> files{{onnx_weights, weights}};
  LoadRequest request;
  request.text = onnx::text_with_sources(imported);
  request.source_name = source.files->path();
  request.metadata = imported.metadata;
  request.remarks = imported.remarks;
  request.files = &files;
  request.device_budget = source.device_budget;
  request.memory_budget = source.memory_budget;
  request.gives_files = source.options.device == "cpu";  // elsewhere host and device both read them
  for (const auto& [name, tensor] : imported.decided)
    request.decided.emplace(name, copy_of(tensor));
  return Model::load(request, source.options,
                     [&](const Options& options, int threads, const Dump& dump) {
                       return source.targets.make(options, threads, dump);
                     });
}

LoadedOnnx try_load(const std::shared_ptr<OnnxSource>& source, const onnx::ImportOptions& facts);

/// Callers read texts by the lists of the model that they know.
void require_same_texts(const std::vector<PortInfo>& known, const std::vector<PortInfo>& outputs) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto &texts = known[i].texts, &others = outputs[i].texts;
    if ((texts == nullptr) != (others == nullptr) || (texts != nullptr && *texts != *others))
      throw Error(ErrorKind::unsupported,
                  fmt::format("the output {} has other texts at these sizes than at others",
                              known[i].name));
  }
}

std::shared_ptr<const Model> load_variant(const std::shared_ptr<OnnxSource>& source,
                                          const onnx::ImportOptions& facts,
                                          const std::vector<PortInfo>& outputs,
                                          const std::string& where) {
  LoadedOnnx loaded;
  runtime::call_with_stack([&] { loaded = try_load(source, facts); });
  if (loaded.model) {
    require_same_texts(outputs, loaded.model->outputs());
    return loaded.model;
  }
  throw Error(ErrorKind::unsupported,
              fmt::format("where {}, the values of its input(s) {} decide the structure of the "
                          "model; give them at load (Options::known_inputs)",
                          where, fmt::join(loaded.imported.undecided, ", ")),
              {source->files->path()});
}

using KeyAt = runtime::Variants::KeyAt;

std::shared_ptr<const Model> with_variants(std::shared_ptr<const Model> usual, KeyAt key_at,
                                           runtime::Variants::Load load) {
  const LoadReport report = usual->load_report();
  return std::make_shared<const Model>(std::make_unique<runtime::VariantExecutable>(
                                           std::move(usual), std::move(key_at), std::move(load)),
                                       report);
}

/// The model, with others where sizes are 1 that it expects to be none. `facts` are those that it
/// was imported with.
std::shared_ptr<const Model> with_ones(std::shared_ptr<const Model> usual,
                                       const onnx::Imported& imported,
                                       const std::shared_ptr<OnnxSource>& source,
                                       const onnx::ImportOptions& facts) {
  if (imported.unlike_ones.empty()) return usual;
  auto load = [source, facts, outputs = usual->outputs(),
               own = imported.ones](const onnx::Ones& ones) {
    onnx::ImportOptions more = facts;
    more.ones = own;
    more.ones.insert(ones.begin(), ones.end());
    return load_variant(source, more, outputs, fmt::format("{} is 1", fmt::join(ones, " and ")));
  };
  const KeyAt ones_at = [sizes = imported.unlike_ones](std::span<const Shape* const> inputs) {
    return sizes.at(inputs);
  };
  return with_variants(std::move(usual), ones_at, std::move(load));
}

/// The model, with others where dims of one name have several sizes. What sizes are 1 in each is
/// found anew.
std::shared_ptr<const Model> with_splits(std::shared_ptr<const Model> usual,
                                         const onnx::Imported& imported,
                                         const std::shared_ptr<OnnxSource>& source,
                                         const onnx::ImportOptions& facts) {
  if (imported.shared_names.empty() || !facts.splits.empty()) return usual;
  auto load = [source, facts, outputs = usual->outputs()](const onnx::Splits& splits) {
    onnx::ImportOptions more = facts;
    more.splits = splits;
    return load_variant(source, more, outputs, "dims of one name have several sizes");
  };
  const KeyAt splits_at = [names = imported.shared_names](std::span<const Shape* const> inputs) {
    return names.at(inputs);
  };
  return with_variants(std::move(usual), splits_at, std::move(load));
}

LoadedOnnx try_load(const std::shared_ptr<OnnxSource>& source, const onnx::ImportOptions& facts) {
  onnx::Imported imported;
  {
    const std::lock_guard lock(source->mutex);
    imported = onnx::import_model(*source->files, onnx_weights, facts);
  }
  if (imported.is_undecided()) return {nullptr, std::move(imported)};
  if (source->options.log) {
    for (const std::string& warning : imported.warnings)
      source->options.log(LogLevel::warning, warning);
  }
  std::shared_ptr<const Model> model = load_imported(imported, *source);
  model = with_ones(std::move(model), imported, source, facts);
  return {with_splits(std::move(model), imported, source, facts), {}};
}

runtime::Structures::Deciding deciding(const onnx::Imported& imported) {
  return {imported.undecided, imported.unranked};
}

std::shared_ptr<const Model> load_onnx(std::unique_ptr<onnx::ModelFiles> files,
                                       const Options& options) {
  Model::measure_machine(options);
  const auto source = std::make_shared<OnnxSource>(std::move(files), options);
  const onnx::ImportOptions facts{.known = source->options.known_inputs,
                                  .free_dims = source->options.free_dims,
                                  .operators = source->options.operators.set(),
                                  .strict = options.strict};
  LoadedOnnx loaded = try_load(source, facts);
  if (loaded.model) return loaded.model;
  onnx::Imported& first = loaded.imported;
  auto load = [source,
               facts](const runtime::Structures::Facts& given) -> runtime::Structures::Loaded {
    onnx::ImportOptions more = facts;
    for (const auto& [name, tensor] : given.values)
      more.known.insert_or_assign(name, copy_of(tensor));
    for (const auto& [name, rank] : given.ranks) more.ranks.insert_or_assign(name, rank);
    LoadedOnnx again;
    runtime::call_with_stack([&] { again = try_load(source, more); });
    return {std::move(again.model), deciding(again.imported)};
  };
  std::vector<DimInfo> dims = runtime::dims_of_ports(first.inputs);
  runtime::ModelInfo info{source->options,          1,  std::move(first.inputs),
                          std::move(first.outputs), {}, std::move(first.metadata),
                          std::move(dims)};
  return std::make_shared<const Model>(
      std::make_unique<runtime::UndecidedExecutable>(std::move(info), deciding(first),
                                                     std::move(load), source->open_device()),
      LoadReport());
}

std::shared_ptr<const Model> load_read(const std::string& name,
                                       const std::shared_ptr<Reader>& reader,
                                       const Options& options) {
  if (!reader) throw Error(ErrorKind::user, fmt::format("the reader of '{}' is null", name));
  const HostFile file(*reader, name);
  const std::string head =
      file.contents(0, std::min<std::uint64_t>(file.size(), runtime::format_bytes));
  if (runtime::format_of(head, name) == runtime::ModelFormat::Onnx)
    return load_onnx(std::make_unique<onnx::ReadModelFiles>(reader, name), options);
  check_no_free_dims(options);
  runtime::ReadFiles files(*reader, name);
  LoadRequest request;
  request.text = file.contents();
  request.source_name = name;
  request.reader = &files;
  request.gives_files = options.device == "cpu";  // elsewhere host and device both read them
  return Model::load(request, options);
}

std::shared_ptr<const Model> load_given_onnx(std::string_view model,
                                             const std::map<std::string, std::string_view>& files,
                                             const Options& options) {
  const auto reader = std::make_shared<runtime::MemoryReader>(model, files);
  std::shared_ptr<const Model> loaded =
      load_onnx(std::make_unique<onnx::ReadModelFiles>(reader, runtime::memory_model), options);
  if (reader.use_count() > 1) reader->keep_copies();  // the model may be imported again
  return loaded;
}

}  // namespace

Graph Graph::load(const std::string& path, const Options& options) {
  return Graph(loaded(options, [&] {
    if (path.ends_with(".onnx"))
      return load_onnx(std::make_unique<onnx::DiskModelFiles>(path), options);
    check_no_free_dims(options);
    LoadRequest request;
    request.text = runtime::read_model_text(path);
    request.source_name = path;
    request.weight_directory = std::filesystem::path(path).parent_path().string();
    return Model::load(request, options);
  }));
}

Graph Graph::from_text(std::string_view text, const Options& options,
                       const std::string& weight_directory) {
  return Graph(loaded(options, [&] {
    check_no_free_dims(options);
    LoadRequest request;
    request.text = text;
    request.weight_directory = weight_directory;
    return Model::load(request, options);
  }));
}

Graph Graph::from_memory(std::string_view model,
                         const std::map<std::string, std::string_view>& files,
                         const Options& options) {
  return Graph(loaded(options, [&] {
    if (runtime::format_of(model, runtime::memory_model) == runtime::ModelFormat::Onnx)
      return load_given_onnx(model, files, options);
    check_no_free_dims(options);
    LoadRequest request;
    request.text = model;
    request.files = &files;
    return Model::load(request, options);
  }));
}

Graph Graph::from_reader(const std::string& name, const std::shared_ptr<Reader>& reader,
                         const Options& options) {
  return Graph(loaded(options, [&] { return load_read(name, reader, options); }));
}

Graph Builder::load(const Options& options, const std::string& weight_directory) {
  return Graph(loaded(options, [&] {
    check_no_free_dims(options);
    return state_->load(options, weight_directory);
  }));
}

const std::shared_ptr<const Model>& Graph::model() const {
  if (!model_) throw Error(ErrorKind::user, "this Graph has no model: it was moved from");
  return model_;
}

std::vector<PortInfo> Graph::inputs() const { return model()->inputs(); }
std::vector<PortInfo> Graph::outputs() const { return model()->outputs(); }
std::size_t Graph::input_count() const { return model()->inputs().size(); }
std::size_t Graph::output_count() const { return model()->outputs().size(); }
std::size_t Graph::state_count() const { return model()->executable().info().states.size(); }
std::vector<DimInfo> Graph::dims() const { return model()->executable().info().dims; }
std::vector<StateInfo> Graph::states() const { return model()->executable().info().states; }
ModelMetadata Graph::metadata() const { return model()->executable().info().metadata; }

std::vector<KernelInfo> Graph::kernels() const {
  return shielded("describing", [&] { return runtime::kernels_of(*model()); });
}

std::vector<KernelChoice> Graph::kernels(
    const std::vector<std::pair<std::string, Shape>>& inputs) const {
  return shielded("describing", [&] {
    const LentThreads lent(this->model()->options().executor.get());  // it may load
    const std::shared_ptr<const Model> model = model_at(this->model(), inputs);
    return runtime::kernels_at(*model, model->bind(inputs));
  });
}

const LoadReport& Graph::load_report() const { return model()->load_report(); }

Outputs Graph::run(const NamedTensors& inputs, const RunOptions& options) const {
  return shielded("a run", [&] {
    CallState call(model());
    return runtime::run_named(*model(), call, inputs, runtime::RunControl(options));
  });
}

std::vector<std::pair<std::string, Shape>> Graph::infer_shapes(
    const std::vector<std::pair<std::string, Shape>>& inputs) const {
  return shielded("its shapes", [&] {
    const LentThreads lent(this->model()->options().executor.get());  // it may load
    const std::shared_ptr<const Model> model = model_at(this->model(), inputs);
    return model->output_shapes(model->bind(inputs));
  });
}

void Graph::prepare(const std::vector<std::pair<std::string, Shape>>& inputs) const {
  shielded("preparing", [&] {
    const LentThreads lent(this->model()->options().executor.get());
    const std::shared_ptr<const Model> model = model_at(this->model(), inputs);
    model->prepare(model->bind(inputs));
  });
}

MemoryNeeded Graph::memory_needed(const std::vector<std::pair<std::string, Shape>>& inputs) const {
  return shielded("preparing", [&] {
    const LentThreads lent(this->model()->options().executor.get());
    const std::shared_ptr<const Model> model = model_at(this->model(), inputs);
    return model->executable().memory_needed(model->bind(inputs));
  });
}

void Graph::trim() const {
  model()->executable().trim();
  ::malloc_trim(0);
}

std::int64_t Graph::kernels_compiled_since_load() const {
  return model()->kernels_compiled_since_load();
}
std::int64_t Graph::shapes_planned() const { return model()->shapes_planned(); }

Call::Call(const Graph& graph) : state_(std::make_unique<CallState>(graph.model())) {}
Call::Call(const Session& session) : state_(std::make_unique<CallState>(session.state())) {}
Call::~Call() = default;
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;

CallState& Call::state() const {
  if (!state_) throw Error(ErrorKind::user, "this Call runs nothing: it was moved from");
  return *state_;
}

std::size_t Call::input_index(std::string_view name) const { return state().input_index(name); }
std::size_t Call::output_index(std::string_view name) const { return state().output_index(name); }

void Call::set_input(std::size_t index, Tensor tensor) {
  state().set_input(index, std::move(tensor));
}
void Call::set_input(std::string_view name, Tensor tensor) {
  set_input(input_index(name), std::move(tensor));
}
void Call::set_output(std::size_t index, Tensor tensor) {
  state().set_output(index, std::move(tensor));
}
void Call::set_output(std::string_view name, Tensor tensor) {
  set_output(output_index(name), std::move(tensor));
}
void Call::set_output(std::size_t index, const Device& device) {
  state().set_output(index, device.device_->device());
}
void Call::set_output(std::string_view name, const Device& device) {
  set_output(output_index(name), device);
}
void Call::set_stream(const Stream& stream) {
  state().check_device(*stream.device_);
  // The stream's device lives as long as the stream.
  state().set_stream(std::shared_ptr<rkernel::Stream>(
      stream.stream_.get(), [kept = stream](rkernel::Stream*) mutable {}));
}
void Call::wait() { state().wait(); }
void Call::run(const RunOptions& options) { state().run(runtime::RunControl(options)); }
void Call::run(Profile& profile, const RunOptions& options) { state().run(profile, options); }
const Tensor& Call::output(std::size_t index) const { return state().output(index); }
const Tensor& Call::output(std::string_view name) const {
  return state().output(output_index(name));
}

}  // namespace dyn
