#pragma once
// The tensors of one caller: inputs that it binds, and outputs that it binds or the runtime
// allocates.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/runtime/device/port_memory.hpp"
#include "src/runtime/load/model_info.hpp"

namespace dyn::runtime {

/// The tensor as the port declares it: one of a single element may have no dims where one is
/// declared, or the reverse.
Tensor as_declared(Tensor tensor, const PortInfo& port);

/// Not thread-safe. Errors are Error(user) and name the port.
class CallPorts {
 public:
  /// `info` must outlive the ports. `device`: whose memory tensors may lie in besides the host's;
  /// nullptr: none.
  CallPorts(const ModelInfo& info, std::shared_ptr<rkernel::Device> device);

  void set_input(std::size_t index, Tensor tensor);
  void set_output(std::size_t index, Tensor tensor);
  /// Nobody binds it; it is allocated in the memory of this device.
  void set_output(std::size_t index, const std::shared_ptr<rkernel::Device>& device);
  /// Binds the input as other ports of the same device have it, with the copy on the host that was
  /// made there.
  void share_input(std::size_t index, const CallPorts& from);
  std::size_t input_index(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;

  std::size_t input_count() const noexcept { return inputs_.size(); }
  std::size_t output_count() const noexcept { return outputs_.size(); }
  const Tensor& input(std::size_t index) const { return inputs_[index].tensor; }
  const Tensor& output(std::size_t index) const;
  /// The caller has bound this output.
  bool is_bound(std::size_t output) const { return outputs_[output].bound; }
  /// Nobody has bound it, and it is allocated in the memory of device().
  bool is_on_device(std::size_t output) const { return outputs_[output].on_device; }
  const std::shared_ptr<rkernel::Device>& device() const noexcept { return device_; }

  /// Throws Error(user) where `what`, which is on this device, is of no use there.
  void check_device(const rkernel::Device& device, const std::string& what) const;

  /// A port was bound since the last ready_outputs().
  bool changed() const noexcept { return changed_; }
  /// Every input is there, with the model's element type.
  void check_inputs() const;
  /// Inputs whose values decided the model's structure have these values. Those on the device are
  /// copied as host_values() does, where share_input() has brought no copy.
  void check_decided();
  /// Values of inputs on the device are read behind the work of this stream from now on; nullptr:
  /// on a stream of their own.
  void read_behind(std::shared_ptr<rkernel::Stream> stream) { stream_ = std::move(stream); }
  /// The values of an input that is bound and checked: the tensor itself, or a copy of one on the
  /// device, which is made in the first call since the input was bound, or drop_copies(). Throws
  /// Error(device) where work on the stream failed, and what Stream::begin() throws.
  const Tensor& host_values(std::size_t input);
  void drop_copies();
  /// Outputs that the caller has bound have memory of their own. A run whose outputs' shapes are
  /// known only in its end asks before it begins.
  void check_bound_overlaps() const;
  /// Gives outputs of these shapes to a run: allocates those that nobody has bound, unless they
  /// have their shape already, and checks the others.
  void ready_outputs(std::span<const Shape> shapes);
  /// Bytes of those at these shapes that nobody has bound, and that lie on the host.
  std::size_t own_output_bytes(std::span<const Shape> shapes) const;
  /// Leaves the outputs that nobody has bound to whoever shares them: the next run has others.
  void drop_outputs();
  /// The memory of a run's inputs and outputs, as ready_outputs() found them.
  std::span<const PortMemory> input_memory() const noexcept { return input_memory_; }
  std::span<const PortMemory> output_memory() const noexcept { return output_memory_; }

  /// Views of the inputs' shapes, valid until one is bound anew.
  std::vector<const Shape*> input_shapes() const;
  std::vector<Tensor> input_tensors() const;
  std::vector<Tensor> output_tensors() const;

  /// Takes a tensor that a run made as an output: it is copied where the output is bound, or where
  /// the memory is an input's, else shared.
  void take_output(std::size_t index, const Tensor& made);
  /// Shares a tensor that a run has left in a port of its own.
  void share_output(std::size_t index, const Tensor& made) { outputs_[index].tensor = made; }

 private:
  struct Port {
    Tensor tensor;
    bool bound = false;
    bool on_device = false;  ///< where it is allocated
    Tensor copy = {};        ///< an input's values on the host; empty: there is no copy
  };
  void check_place(const Tensor& tensor, const char* what, const PortInfo& port) const;
  Tensor new_output(std::size_t index, const Shape& shape) const;
  Tensor read(const Tensor& on_device);
  void check_output(std::size_t index, const Shape& shape) const;
  void check_overlaps_of(std::size_t output) const;

  const ModelInfo& info_;
  std::vector<Port> inputs_, outputs_;
  const std::shared_ptr<rkernel::Device> device_;
  std::shared_ptr<rkernel::Stream> stream_;      ///< the caller's
  std::unique_ptr<rkernel::Stream> own_stream_;  ///< made when it is first needed
  std::vector<PortMemory> input_memory_, output_memory_;
  bool changed_ = true;
};

}  // namespace dyn::runtime
