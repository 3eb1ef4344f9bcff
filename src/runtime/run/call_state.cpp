// One caller's run: checks what has changed since the last run, and no more.

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/load/model_impl.hpp"
#include "src/runtime/executables/reference_execution.hpp"
#include "src/runtime/session/session_state.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

std::size_t find_port(const std::vector<PortInfo>& ports, std::string_view name, const char* what) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
  }
  user_error(fmt::format("the model has no {} '{}'", what, name));
}

void check_tensor(const Tensor& tensor, const PortInfo& info, const char* what) {
  if (tensor.dtype() != info.dtype) {
    user_error(fmt::format("{} '{}' is {}, but the model's is {}{}", what, info.name,
                           name_of(tensor.dtype()), name_of(info.dtype), info.shape));
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.raw()) % size_of(tensor.dtype()) != 0) {
    user_error(fmt::format("{} '{}' is not aligned for elements of {}", what, info.name,
                           name_of(tensor.dtype())));
  }
}

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.raw());
  const auto* b_begin = static_cast<const std::byte*>(b.raw());
  return a.bytes() > 0 && b.bytes() > 0 && a_begin < b_begin + b.bytes() &&
         b_begin < a_begin + a.bytes();
}

[[noreturn]] void refuse_described(const Model::Impl& parts) {
  user_error(
      fmt::format("{} is only a description of a GPU: kernels for it can be planned and explained, "
                  "but not run here; take device 'emulator' to "
                  "execute them on the CPU, or name no GPU to run on this machine's own",
                  parts.target->name()));
}

}  // namespace

struct CallState::Impl {
  struct Port {
    Tensor tensor;
    bool given = false;
  };

  Impl(std::shared_ptr<const Model> loaded, std::shared_ptr<SessionState> of_session)
      : model(std::move(loaded)),
        session(std::move(of_session)),
        parts(model->impl()),
        inputs(parts.inputs.size()),
        outputs(parts.outputs.size()),
        input_shapes(parts.inputs.size()),
        input_data(inputs.size()),
        output_data(outputs.size()) {}

  void check_inputs() const;
  bool same_shapes() const;
  std::vector<std::int64_t> bound_symbols() const;
  void bind();
  void ready_ports();
  void ready_outputs();
  void check_overlaps() const;
  void execute(RunProfile* profile);
  void execute_reference();
  void prepare();
  void check_decided() const;
  void run_decided(RunProfile* profile);
  void run_segments();
  void take_output(std::size_t index, const Tensor& made);

  std::shared_ptr<const Model> model;
  std::shared_ptr<SessionState> session;  ///< nullptr: none
  const Model::Impl& parts;
  std::vector<Port> inputs, outputs;  ///< an output that is not `given` is ours
  bool changed = true;                ///< a port was set since the last run

  PlanPtr plan;
  std::vector<Shape> input_shapes;  ///< of the last run
  Run* last_run = nullptr;
  std::vector<void*> input_data, output_data;
  std::optional<std::vector<std::int64_t>> given_symbols;
  std::unique_ptr<SegmentRun> segments;  ///< of a model that is made of such
  std::unique_ptr<CallState>
      decided;  ///< of the model that the last run's values decided, where values do
  std::shared_ptr<const Model> decided_model;
};

void CallState::Impl::check_inputs() const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].given) user_error(fmt::format("input '{}' is missing", parts.inputs[i].name));
    check_tensor(inputs[i].tensor, parts.inputs[i], "input");
  }
}

void CallState::Impl::check_decided() const {
  for (const auto& [name, value] : parts.decided) {
    const Tensor& given = inputs[find_port(parts.inputs, name, "input")].tensor;
    if (given.shape() == value.shape() &&
        (value.bytes() == 0 || std::memcmp(given.raw(), value.raw(), value.bytes()) == 0))
      continue;
    user_error(
        fmt::format("input '{}' differs from the value that the model was loaded with, which "
                    "decided its structure; load the model again for this one",
                    name));
  }
}

/// As a run of the model for these values; what is not bound is its.
void CallState::Impl::run_decided(RunProfile* profile) {
  check_inputs();
  std::vector<Tensor> tensors;
  for (const Port& input : inputs) tensors.push_back(input.tensor);
  const std::shared_ptr<const Model> wanted = parts.structures->model_for(parts.inputs, tensors);
  if (wanted != decided_model) {
    decided = std::make_unique<CallState>(wanted);
    decided_model = wanted;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) decided->set_input(i, inputs[i].tensor);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].given) decided->set_output(i, outputs[i].tensor);
  }
  decided->run(profile);
  plan = decided->impl_->plan;
}

bool CallState::Impl::same_shapes() const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor.shape() != input_shapes[i]) return false;
  }
  return plan != nullptr;
}

std::vector<std::int64_t> CallState::Impl::bound_symbols() const {
  if (given_symbols) return *given_symbols;
  std::vector<const Shape*> shapes;
  for (const Port& input : inputs) shapes.push_back(&input.tensor.shape());
  return parts.binder->bind(shapes, session ? session->symbols() : std::span<const std::int64_t>());
}

void CallState::Impl::bind() {
  plan = model->plan(bound_symbols());
  for (std::size_t i = 0; i < inputs.size(); ++i) input_shapes[i] = inputs[i].tensor.shape();
}

void CallState::Impl::ready_outputs() {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const PortInfo& info = parts.outputs[i];
    const Shape& shape = plan->output_shapes[i];
    Tensor& tensor = outputs[i].tensor;
    if (!outputs[i].given) {
      if (tensor.raw() == nullptr || tensor.shape() != shape) tensor = Tensor(info.dtype, shape);
      continue;
    }
    check_tensor(tensor, info, "output");
    if (!tensor.writable()) user_error(fmt::format("output '{}' is a read-only view", info.name));
    if (tensor.shape() != shape)
      user_error(fmt::format("output '{}' has shape {}, but these inputs give {}", info.name,
                             to_string(tensor.shape()), to_string(shape)));
  }
}

void CallState::Impl::check_overlaps() const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      if (overlap(outputs[i].tensor, inputs[j].tensor))
        user_error(fmt::format("output '{}' overlaps input '{}'", parts.outputs[i].name,
                               parts.inputs[j].name));
    }
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      if (overlap(outputs[i].tensor, outputs[j].tensor))
        user_error(fmt::format("output '{}' overlaps output '{}'", parts.outputs[i].name,
                               parts.outputs[j].name));
    }
  }
}

void CallState::Impl::prepare() {
  if (!changed && !session && !given_symbols) return;
  check_inputs();
  check_decided();
  if (session || given_symbols || !same_shapes()) bind();
  ready_ports();
}

void CallState::Impl::ready_ports() {
  ready_outputs();
  check_overlaps();
  for (std::size_t i = 0; i < inputs.size(); ++i) input_data[i] = inputs[i].tensor.raw();
  for (std::size_t i = 0; i < outputs.size(); ++i) output_data[i] = outputs[i].tensor.raw();
  changed = false;
}

/// Into the caller's memory, where that is bound; an output that is an input's memory gets its own.
void CallState::Impl::take_output(std::size_t index, const Tensor& made) {
  const PortInfo& info = parts.outputs[index];
  Port& output = outputs[index];
  const bool shared =
      std::ranges::any_of(inputs, [&](const Port& input) { return overlap(made, input.tensor); });
  if (!output.given && !shared) {
    output.tensor = made;
    return;
  }
  if (!output.given) output.tensor = Tensor(info.dtype, made.shape());
  check_tensor(output.tensor, info, "output");
  if (!output.tensor.writable())
    user_error(fmt::format("output '{}' is a read-only view", info.name));
  if (output.tensor.shape() != made.shape())
    user_error(fmt::format("output '{}' has shape {}, but these inputs give {}", info.name,
                           to_string(output.tensor.shape()), to_string(made.shape())));
  if (made.bytes() > 0) std::memcpy(output.tensor.raw(), made.raw(), made.bytes());
}

void CallState::Impl::run_segments() {
  check_inputs();
  check_decided();
  if (!segments) segments = std::make_unique<SegmentRun>(parts);
  std::vector<Tensor> tensors;
  for (const Port& input : inputs) tensors.push_back(input.tensor);
  const std::vector<Tensor> made = segments->run(tensors, bound_symbols());
  for (std::size_t i = 0; i < made.size(); ++i) take_output(i, made[i]);
}

void CallState::Impl::execute(RunProfile* profile) {
  if (profile != nullptr) {
    profile->group_seconds.resize(parts.kernels.size());
    ++profile->runs;
  }
  RunPool& pool = *parts.runs;
  last_run = pool.take(last_run);
  struct GiveBack {
    RunPool& pool;
    Run* run;
    ~GiveBack() { pool.give_back(run); }
  } const give_back{pool, last_run};
  pool.bind(*last_run, plan, parts.wiring);
  last_run->set_ports(input_data, output_data,
                      session ? session->pointers() : std::span<void* const>());
  const int failed = last_run->execute(pool.helpers(), profile);
  if (failed < 0) return;
  const std::string& where = parts.problems[static_cast<std::size_t>(failed)].name;
  if (last_run->status() == rkernel::Status::LibraryFailed) {
    throw Error(ErrorKind::device, fmt::format("the vendor's library failed in '{}', or there was "
                                               "no memory for it; take another policy than vendor",
                                               where));
  }
  if (last_run->status() == rkernel::Status::OutOfMemory)
    throw Error(ErrorKind::device, fmt::format("no memory in '{}' for a run of this shape", where));
  user_error(fmt::format(
      "an index is out of range in '{}'; check the values of the inputs that hold indices", where));
}

void CallState::Impl::execute_reference() {
  std::vector<Tensor> given, wanted;
  for (const Port& input : inputs) given.push_back(input.tensor);
  for (const Port& output : outputs) wanted.push_back(output.tensor);
  std::vector<Tensor> states;
  if (session) states = session->tensors();
  run_reference(parts, *plan, given, wanted, states);
}

CallState::CallState(std::shared_ptr<const Model> model)
    : impl_(std::make_unique<Impl>(std::move(model), nullptr)) {}
CallState::CallState(std::shared_ptr<SessionState> session)
    : impl_(std::make_unique<Impl>(session->model(), session)) {}
CallState::~CallState() = default;

void CallState::set_input(std::size_t index, Tensor tensor) {
  if (index >= impl_->inputs.size())
    user_error(
        fmt::format("there is no input number {}; the model has {}", index, impl_->inputs.size()));
  impl_->inputs[index].tensor = std::move(tensor);
  impl_->inputs[index].given = true;
  impl_->changed = true;
}

void CallState::set_output(std::size_t index, Tensor tensor) {
  if (index >= impl_->outputs.size())
    user_error(fmt::format("there is no output number {}; the model has {}", index,
                           impl_->outputs.size()));
  impl_->outputs[index].tensor = std::move(tensor);
  impl_->outputs[index].given = true;
  impl_->changed = true;
}

void CallState::give_symbols(std::vector<std::int64_t> symbols) {
  impl_->given_symbols = std::move(symbols);
}

std::size_t CallState::input_index(std::string_view name) const {
  return find_port(impl_->parts.inputs, name, "input");
}
std::size_t CallState::output_index(std::string_view name) const {
  return find_port(impl_->parts.outputs, name, "output");
}

void CallState::run(RunProfile* profile) {
  if (impl_->parts.only_described) refuse_described(impl_->parts);
  if (impl_->parts.structures) return impl_->run_decided(profile);
  if (!impl_->session) impl_->model->refuse_states();
  try {
    if (!impl_->parts.segments.empty()) return impl_->run_segments();
    std::optional<SessionState::Turn> turn;
    if (impl_->session) turn.emplace(*impl_->session);
    impl_->prepare();
    if (turn) turn->begin(impl_->plan->symbols);
    if (impl_->parts.is_reference()) {
      impl_->execute_reference();
    } else {
      impl_->execute(profile);
    }
    if (turn) turn->finish();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, "no memory for a run of this shape");
  }
}

void CallState::use_plan(PlanPtr plan) {
  impl_->check_inputs();
  if (plan->symbols != impl_->bound_symbols()) user_error("this plan was made for other shapes");
  impl_->plan = std::move(plan);
  for (std::size_t i = 0; i < impl_->inputs.size(); ++i)
    impl_->input_shapes[i] = impl_->inputs[i].tensor.shape();
  impl_->ready_ports();
}

const Tensor& CallState::output(std::size_t index) const {
  if (index >= impl_->outputs.size())
    user_error(fmt::format("there is no output number {}; the model has {}", index,
                           impl_->outputs.size()));
  if (impl_->decided) return impl_->decided->output(index);
  return impl_->outputs[index].tensor;
}

const Plan& CallState::plan() const {
  if (impl_->plan == nullptr) user_error("this call has not run yet");
  return *impl_->plan;
}

}  // namespace dyn::runtime
