#pragma once
// dyn::Graph: a loaded model, and dyn::Call: one caller's reusable run of it.

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyn/control.hpp"
#include "dyn/error.hpp"
#include "dyn/export.hpp"
#include "dyn/info.hpp"
#include "dyn/options.hpp"
#include "dyn/tensor.hpp"

namespace dyn {

namespace runtime {
class Model;
class CallState;
class SessionState;
}  // namespace runtime

class Builder;
class AsyncRun;
class Device;
struct Profile;
class Reader;
class Session;
class Stream;

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// The outputs of one run, by name or in the model's order.
class DYN_API Outputs {
 public:
  explicit Outputs(NamedTensors tensors) : tensors_(std::move(tensors)) {}
  /// Throws Error(user) where no output has that name.
  const Tensor& operator[](std::string_view name) const;
  /// Throws Error(user) where there are not so many.
  const Tensor& operator[](std::size_t index) const;
  std::size_t size() const noexcept { return tensors_.size(); }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }

 private:
  NamedTensors tensors_;
};

/// Times of a load, in seconds, and what was compiled. `random_weights` and `machine` are reported
/// apart: making random weights, and measuring the machine (once per machine), are not part of
/// `total`.
struct LoadReport {
  double total = 0, parse = 0, compile = 0, measure = 0, weights = 0;
  double random_weights = 0, machine = 0;
  double weights_write = 0;  ///< part of `total`: writing prepacked weights to the cache directory
  /// Shapes may need so many; the load has made the others: on a GPU only what it timed, if that.
  int kernels = 0, kernels_compiled = 0, kernels_from_disk = 0;
  std::size_t weight_bytes = 0;  ///< resident
  std::size_t weight_bytes_mapped =
      0;  ///< resident bytes in a file of the cache directory, mapped and shared between processes
  bool weights_from_disk =
      false;  ///< that file existed already: no weights file was read, and nothing was packed
};

/// Bytes of the host's memory for one run.
struct MemoryNeeded {
  std::size_t weights = 0;  ///< of the graph, for all its runs
  std::size_t intermediates =
      0;                    ///< tensors between kernels, threads' scratch memory, partial sums
  std::size_t outputs = 0;  ///< those on the host, as if none were bound
  std::size_t total() const noexcept { return weights + intermediates + outputs; }
};

/// A model, loaded. Const functions may be called from any number of threads at once. Copies share
/// one model. One that was moved from has none, and its functions throw Error(user).
class DYN_API Graph {
 public:
  /// Reads a `.dyn` file, or an `.onnx` file, which is imported in memory; weight files are found
  /// relative to it. Throws Error(model) for a broken model, Error(unsupported) for one that this
  /// machine cannot run, Error(device) for files that cannot be read.
  static Graph load(const std::string& path, const Options& options = {});

  /// The same from text. `weight_directory` is where relative weight files are looked for.
  static Graph from_text(std::string_view text, const Options& options = {},
                         const std::string& weight_directory = ".");

  /// A model in memory: dyn's text, or an ONNX model; the first bytes say which, and Error(model)
  /// where they are neither. `files` has the weights files of a text, and the external data of an
  /// ONNX model, by the names that the model uses. Nothing is read from the file system. The memory
  /// of `model` and `files` is only read during the call: where an ONNX model may be imported again
  /// (docs/onnx.md), the graph keeps a copy of all of it, which from_reader needs not.
  static Graph from_memory(std::string_view model,
                           const std::map<std::string, std::string_view>& files = {},
                           const Options& options = {});

  /// The same where the host reads the files (dyn/reader.hpp). `name` is the model's for `reader`
  /// and in errors, and its first bytes say the format, whatever the name. Nothing of the model is
  /// read beside the reader. Prepacked weights go to the cache directory only with
  /// Reader::identity; generated code, which tells the operators and constant sizes of layers, but
  /// no weights, goes there unless Options::cache_dir is "none". Throws Error(user) for a null
  /// reader, and where the reader fails what dyn/reader.hpp says.
  static Graph from_reader(const std::string& name, const std::shared_ptr<Reader>& reader,
                           const Options& options = {});

  std::vector<PortInfo> inputs() const;
  std::vector<PortInfo> outputs() const;
  /// How many inputs(), outputs() and states() there are.
  std::size_t input_count() const;
  std::size_t output_count() const;
  std::size_t state_count() const;
  /// The dims that the model names, in its order. Sizes without a name are in the ports alone,
  /// where dyn calls them "_0" and so on.
  std::vector<DimInfo> dims() const;
  /// In the order of their declarations. None: runs need no Session.
  std::vector<StateInfo> states() const;
  ModelMetadata metadata() const;
  /// All kernels, in the order of a run; where the run decides sizes those of all parts, bodies of
  /// loops among them. None on device "reference". Throws Error(user) where the structure of the
  /// model is not known before a run.
  std::vector<KernelInfo> kernels() const;
  /// The same with what they run at these shapes, in time that grows with the number of candidates.
  /// Loads and plans what `prepare` does, and throws what it does; Error(user) where the run
  /// decides sizes, and for a model with states.
  std::vector<KernelChoice> kernels(const std::vector<std::pair<std::string, Shape>>& inputs) const;
  const LoadReport& load_report() const;

  /// Runs once; allocates the outputs. Throws Error(user) for inputs that do not fit, naming input,
  /// dim and values, and for a model with state, which a Session runs; Error(cancelled) where the
  /// options end it.
  Outputs run(const NamedTensors& inputs, const RunOptions& options = {}) const;

  /// The same beside the caller: in a task of Options::executor, else in a thread of its own. The
  /// tensors must stay until the run is over (dyn/async_run.hpp). Throws what Executor::submit
  /// throws, Error(device) where the system has no thread: then nothing has begun.
  AsyncRun run_async(NamedTensors inputs, RunOptions options = {}) const;
  /// `done` is called once, in the thread of the run, with its outputs or with what it has thrown:
  /// one of both is empty. An executor that destroys the task gives Error(cancelled); one that
  /// never runs it calls nobody, whatever the deadline. Exceptions of `done` are dropped, with a
  /// warning to Options::log. The run keeps the graph, and so its executor: a host whose executor
  /// cannot end in one of its own threads keeps it until `done` has been called. The end of a
  /// process waits for runs in threads of their own.
  void run_async(NamedTensors inputs, RunOptions options,
                 std::function<void(Outputs outputs, std::exception_ptr failure)> done) const;

  /// The shapes that `run` would give, by output name, from input shapes alone. Same errors as
  /// `run`, and Error(user) where they depend on the values of inputs. Like `run` it loads what a
  /// shape that changes the structure of the model needs (docs/onnx.md).
  std::vector<std::pair<std::string, Shape>> infer_shapes(
      const std::vector<std::pair<std::string, Shape>>& inputs) const;

  /// Plans for a shape ahead of the first run with it, and makes the GPU's code that this shape is
  /// the first to need: a run of it compiles nothing then. For a model whose run decides sizes it
  /// only checks the shapes. Throws as `run` does where the GPU's driver refuses code.
  void prepare(const std::vector<std::pair<std::string, Shape>>& inputs) const;

  /// The memory that a run at these shapes takes, by its plan, which is made and kept as by
  /// prepare(); nothing is allocated. Throws as prepare() does, and Error(user) for a model whose
  /// run decides sizes.
  MemoryNeeded memory_needed(const std::vector<std::pair<std::string, Shape>>& inputs) const;

  /// Gives memory back to the system that is kept for runs to come: of runs that are over, plans,
  /// and structures of the model that were compiled for values or shapes (a run that needs one
  /// compiles it again). Runs in flight and their results stay as they are. Thread-safe.
  void trim() const;

  /// Number of kernels compiled by this process for this graph since it was loaded. On the CPU 0,
  /// by design; on a GPU those that a shape was the first to need, each once.
  std::int64_t kernels_compiled_since_load() const;
  /// Number of distinct shapes planned so far.
  std::int64_t shapes_planned() const;

  /// For dynrun and tests inside dyn; not part of the stable API.
  const std::shared_ptr<const runtime::Model>& model() const;

 private:
  friend class Builder;
  explicit Graph(std::shared_ptr<const runtime::Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const runtime::Model> model_;
};

/// One caller's run of a graph: inputs and outputs are bound to slots and reused, and in the steady
/// state (a shape seen before) `run` never allocates. Not thread-safe; use one Call for each
/// thread. One that was moved from throws Error(user).
class DYN_API Call {
 public:
  explicit Call(const Graph& graph);
  /// A call that runs in a session, and goes on with it. A run plans for the session's length, and
  /// so may allocate.
  explicit Call(const Session& session);
  ~Call();
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;

  /// Binds input or output number `index` in the model's order. An output that is not bound is
  /// allocated by `run`, and kept while its shape stays. Bound outputs must have the right dtype
  /// and shape, checked by `run`; an output that overlaps an input or another output is an
  /// Error(user). Tensors may lie in the memory of the graph's device (dyn/device.hpp); one of
  /// another device is an Error(user).
  void set_input(std::size_t index, Tensor tensor);
  void set_input(std::string_view name, Tensor tensor);
  void set_output(std::size_t index, Tensor tensor);
  void set_output(std::string_view name, Tensor tensor);
  /// The output is not bound: `run` allocates it in the memory of this device, the graph's.
  void set_output(std::size_t index, const Device& device);
  void set_output(std::string_view name, const Device& device);
  /// The number of the input or output of this name. Throw Error(user) where there is none.
  std::size_t input_index(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;

  /// Runs go to this stream of the graph's device, behind what it has already. `run` then waits for
  /// nothing but outputs on the host: where all are on the device it returns while the device
  /// works, and what would have been its Error comes from a later `run` or from `wait`. Until then
  /// the tensors that are bound must stay, and so must the stream. A call in a session waits in
  /// `run`; so does one for inputs on the device whose values decide the structure of the model.
  /// Waits for runs on the former stream. Error(user): a stream of another device.
  void set_stream(const Stream& stream);
  /// Waits for runs that have returned before their end. Same errors as Graph::run.
  void wait();

  /// Same errors as Graph::run.
  void run(const RunOptions& options = {});
  /// The same, and says what the run did (dyn/profile.hpp), in place of what the profile held but
  /// its label. Allocates, waits for each step on a device, and returns when all is done. A run
  /// that throws leaves what it did until then: its last event is the group that it ended in, with
  /// the tickets that were done.
  void run(Profile& profile, const RunOptions& options = {});

  const Tensor& output(std::size_t index) const;
  const Tensor& output(std::string_view name) const;

 private:
  runtime::CallState& state() const;
  std::unique_ptr<runtime::CallState> state_;
};

}  // namespace dyn
