#include "src/runtime/run/call_ports.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/device/device_tensor.hpp"
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
  if (tensor.empty())
    user_error(
        fmt::format("{} '{}' is an empty Tensor: it was never given memory, or it was moved from",
                    what, info.name));
  if (tensor.dtype() != info.dtype) {
    user_error(fmt::format("{} '{}' is {}, but the model's is {}{}", what, info.name,
                           name_of(tensor.dtype()), name_of(info.dtype), info.shape));
  }
  const std::size_t alignment =
      tensor.on_device() ? rkernel::port_alignment : size_of(tensor.dtype());
  if (reinterpret_cast<std::uintptr_t>(tensor.raw()) % alignment == 0) return;
  if (tensor.on_device())
    user_error(
        fmt::format("{} '{}' begins at address {:#x} of the device, which is no multiple of "
                    "{} bytes",
                    what, info.name, reinterpret_cast<std::uintptr_t>(tensor.raw()), alignment));
  user_error(fmt::format("{} '{}' is not aligned for elements of {}", what, info.name,
                         name_of(tensor.dtype())));
}

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.raw());
  const auto* b_begin = static_cast<const std::byte*>(b.raw());
  return a.bytes() > 0 && b.bytes() > 0 && a_begin < b_begin + b.bytes() &&
         b_begin < a_begin + a.bytes();
}

PortMemory memory_of(Tensor& tensor) {
  if (!tensor.on_device()) return {tensor.raw(), {}};
  return {nullptr, {reinterpret_cast<rkernel::DeviceAddress>(tensor.raw()), tensor.bytes(), false}};
}

}  // namespace

Tensor as_declared(Tensor tensor, const PortInfo& port) {
  if (tensor.raw() == nullptr || tensor.size() != 1 || tensor.shape().size() > 1) return tensor;
  const bool declares_none = port.shape == "[]";
  if (declares_none && tensor.shape().size() == 1) return tensor.reshaped({});
  int depth = 0;
  bool declares_one = port.shape.starts_with('[') && !declares_none;
  for (const char letter : port.shape) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    declares_one = declares_one && (letter != ',' || depth > 0);
  }
  return declares_one && tensor.shape().empty() ? tensor.reshaped({1}) : tensor;
}

CallPorts::CallPorts(const ModelInfo& info, std::shared_ptr<rkernel::Device> device)
    : info_(info),
      inputs_(info.inputs.size()),
      outputs_(info.outputs.size()),
      device_(std::move(device)),
      input_memory_(inputs_.size()),
      output_memory_(outputs_.size()) {}

void CallPorts::check_device(const rkernel::Device& device, const std::string& what) const {
  if (device_ == nullptr) {
    user_error(
        fmt::format("{} is on {}, but the graph takes what is on the host alone; copy a "
                    "tensor with Device::download",
                    what, device.name()));
  }
  if (!device_->shares_memory_with(device)) {
    user_error(fmt::format("{} is on another device ({}) than the graph ({}); copy a tensor there",
                           what, device.name(), device_->name()));
  }
}

void CallPorts::check_place(const Tensor& tensor, const char* what, const PortInfo& port) const {
  if (tensor.on_device()) check_device(*tensor.device(), fmt::format("{} '{}'", what, port.name));
}

void CallPorts::set_input(std::size_t index, Tensor tensor) {
  if (index >= inputs_.size())
    user_error(fmt::format("there is no input number {}; the model has {}", index, inputs_.size()));
  check_place(tensor, "input", info_.inputs[index]);
  inputs_[index].tensor = info_.options.strict
                              ? std::move(tensor)
                              : as_declared(std::move(tensor), info_.inputs[index]);
  inputs_[index].bound = true;
  inputs_[index].copy = Tensor();
  changed_ = true;
}

void CallPorts::share_input(std::size_t index, const CallPorts& from) {
  set_input(index, from.inputs_[index].tensor);
  inputs_[index].copy = from.inputs_[index].copy;
}

void CallPorts::set_output(std::size_t index, Tensor tensor) {
  if (index >= outputs_.size())
    user_error(
        fmt::format("there is no output number {}; the model has {}", index, outputs_.size()));
  check_place(tensor, "output", info_.outputs[index]);
  outputs_[index] = {std::move(tensor), true, false};
  changed_ = true;
}

void CallPorts::set_output(std::size_t index, const std::shared_ptr<rkernel::Device>& device) {
  set_output(index, Tensor::of_device(device, nullptr, 0, DType::f32, {0}));
  outputs_[index] = {Tensor(), false, true};
}

Tensor CallPorts::new_output(std::size_t index, const Shape& shape) const {
  const DType dtype = info_.outputs[index].dtype;
  if (!device_) return new_host_tensor(info_.options.allocator, dtype, shape);
  return outputs_[index].on_device ? new_device_tensor(device_, dtype, shape)
                                   : new_host_tensor(device_.get(), dtype, shape);
}

std::size_t CallPorts::input_index(std::string_view name) const {
  return find_port(info_.inputs, name, "input");
}
std::size_t CallPorts::output_index(std::string_view name) const {
  return find_port(info_.outputs, name, "output");
}

const Tensor& CallPorts::output(std::size_t index) const {
  if (index >= outputs_.size())
    user_error(
        fmt::format("there is no output number {}; the model has {}", index, outputs_.size()));
  return outputs_[index].tensor;
}

void CallPorts::check_inputs() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].bound) user_error(fmt::format("input '{}' is missing", info_.inputs[i].name));
    check_tensor(inputs_[i].tensor, info_.inputs[i], "input");
  }
}

Tensor CallPorts::read(const Tensor& on_device) {
  if (stream_ == nullptr && own_stream_ == nullptr) own_stream_ = device_->make_stream();
  rkernel::Stream& stream = stream_ != nullptr ? *stream_ : *own_stream_;
  stream.begin();
  return downloaded(*device_, stream, on_device);
}

const Tensor& CallPorts::host_values(std::size_t input) {
  Port& port = inputs_[input];
  if (!port.tensor.on_device()) return port.tensor;
  if (port.copy.empty()) port.copy = read(port.tensor);
  return port.copy;
}

void CallPorts::drop_copies() {
  for (Port& input : inputs_) input.copy = Tensor();
}

/// Copies that are made here are not kept: memory of a device may hold other values in the next
/// run.
void CallPorts::check_decided() {
  const auto is_same = [&](const Port& port, const Tensor& value) {
    if (port.tensor.shape() != value.shape()) return false;
    if (value.bytes() == 0) return true;
    const Tensor given = !port.tensor.on_device() ? port.tensor
                         : port.copy.empty()      ? read(port.tensor)
                                                  : port.copy;
    return std::memcmp(given.raw(), value.raw(), value.bytes()) == 0;
  };
  for (const auto& [name, value] : info_.decided) {
    if (is_same(inputs_[input_index(name)], value)) continue;
    user_error(
        fmt::format("input '{}' differs from the value that the model was loaded with, which "
                    "decided its structure; load the model again for this one",
                    name));
  }
}

void CallPorts::check_output(std::size_t index, const Shape& shape) const {
  const PortInfo& info = info_.outputs[index];
  const Tensor& tensor = outputs_[index].tensor;
  check_tensor(tensor, info, "output");
  if (!tensor.writable()) user_error(fmt::format("output '{}' is a read-only view", info.name));
  if (tensor.shape() != shape)
    user_error(fmt::format("output '{}' has shape {}, but these inputs give {}", info.name,
                           to_string(tensor.shape()), to_string(shape)));
}

void CallPorts::check_overlaps_of(std::size_t output) const {
  const Tensor& tensor = outputs_[output].tensor;
  const auto refuse = [&](const char* what, const std::string& name) {
    user_error(fmt::format("output '{}' overlaps {} '{}'", info_.outputs[output].name, what, name));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (overlap(tensor, inputs_[i].tensor)) refuse("input", info_.inputs[i].name);
  }
  for (std::size_t i = output + 1; i < outputs_.size(); ++i) {
    if (overlap(tensor, outputs_[i].tensor)) refuse("output", info_.outputs[i].name);
  }
}

void CallPorts::check_bound_overlaps() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].bound) continue;
    check_tensor(outputs_[i].tensor, info_.outputs[i], "output");
    check_overlaps_of(i);
  }
}

void CallPorts::ready_outputs(std::span<const Shape> shapes) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Tensor& tensor = outputs_[i].tensor;
    if (outputs_[i].bound)
      check_output(i, shapes[i]);
    else if (tensor.raw() == nullptr || tensor.shape() != shapes[i])
      tensor = new_output(i, shapes[i]);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) check_overlaps_of(i);
  for (std::size_t i = 0; i < inputs_.size(); ++i) input_memory_[i] = memory_of(inputs_[i].tensor);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    output_memory_[i] = memory_of(outputs_[i].tensor);
  changed_ = false;
}

std::size_t CallPorts::own_output_bytes(std::span<const Shape> shapes) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].bound && !outputs_[i].on_device)
      bytes += static_cast<std::size_t>(element_count(shapes[i])) * size_of(info_.outputs[i].dtype);
  }
  return bytes;
}

void CallPorts::drop_outputs() {
  for (Port& output : outputs_) {
    if (!output.bound) output.tensor = Tensor();
  }
  changed_ = true;
}

std::vector<const Shape*> CallPorts::input_shapes() const {
  std::vector<const Shape*> shapes;
  for (const Port& input : inputs_) shapes.push_back(&input.tensor.shape());
  return shapes;
}

std::vector<Tensor> CallPorts::input_tensors() const {
  std::vector<Tensor> tensors;
  for (const Port& input : inputs_) tensors.push_back(input.tensor);
  return tensors;
}

std::vector<Tensor> CallPorts::output_tensors() const {
  std::vector<Tensor> tensors;
  for (const Port& output : outputs_) tensors.push_back(output.tensor);
  return tensors;
}

void CallPorts::take_output(std::size_t index, const Tensor& made) {
  Port& output = outputs_[index];
  const bool is_shared =
      std::ranges::any_of(inputs_, [&](const Port& input) { return overlap(made, input.tensor); });
  if (!output.bound && !is_shared) {
    output.tensor = made;
    return;
  }
  if (!output.bound) output.tensor = new_output(index, made.shape());
  check_output(index, made.shape());
  if (made.bytes() > 0) std::memcpy(output.tensor.raw(), made.raw(), made.bytes());
}

}  // namespace dyn::runtime
