#pragma once
// The memory behind the states of a session, on the host and on the device.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/rkernel/target/device.hpp"
#include "src/runtime/executables/executable.hpp"
#include "src/runtime/session/state_memory.hpp"
#include "src/runtime/system/memory_block.hpp"

namespace dyn::runtime {

/// For one thread at a time, and never while a run uses it: what it does on the device is done when
/// its functions return.
class SessionMemory {
 public:
  /// Zeroed. `symbols`: the values of the states' dims. Throws Error(user) for sizes that cannot be
  /// addressed, Error(device) where there is no memory. A GPU that is only described has none for
  /// it.
  SessionMemory(const Executable& executable, std::span<const std::int64_t> symbols);

  /// On the host and on the device.
  std::size_t bytes() const noexcept { return host_.size() + device_.bytes(); }
  /// Bytes of the first `length` positions, and of all positions of states that are not appended
  /// to at the length.
  std::size_t bytes_below(std::int64_t length) const;
  /// The fewest positions that states have room for which are appended to at the length; the
  /// largest number where there is none.
  std::int64_t room() const;

  /// Zeroes positions [first, last) of the states that are appended to at the length. Throws
  /// Error(device); what is zero then is unknown.
  void clear(std::int64_t first, std::int64_t last);
  /// Zeroes the other states. Throws as clear() does.
  void clear_fixed();

  /// Fills StateMemory::changing for a run that appends positions [first, last) at the length.
  void set_changing(std::int64_t first, std::int64_t last);
  /// By state, in the model's order.
  std::span<const StateMemory> states() const noexcept { return states_; }

  /// Views of the states, in the model's order. For sessions without memory on a device.
  std::vector<Tensor> views() const;
  /// A copy of a state. Throws Error(device).
  Tensor read(std::size_t state) const;
  /// Sets a whole state; `tensor` has its dtype and shape. Throws Error(device).
  void write(std::size_t state, const Tensor& tensor);

 private:
  /// A state as rows of bytes: `blocks` times `positions` times `position_bytes`.
  struct Layout {
    Shape shape;
    DType dtype = DType::f32;
    std::int64_t blocks = 1, positions = 1;
    std::size_t position_bytes = 0, bytes = 0;
    bool at_length = false;
  };

  static Layout layout_of(const graph::Module& module, const graph::AppendedState& state,
                          std::span<const std::int64_t> symbols);
  static Strips positions(const Layout& layout, std::int64_t first, std::int64_t last);
  void allocate(const Executable& executable);
  void allocate_on_device(const Executable& executable, std::size_t bytes);
  /// Calls work(stream) and waits for what it asks of the device. For sessions with memory there.
  template <class Work>
  void with_stream(const Work& work) const;
  void clear(std::span<const Strips> strips);  ///< by state

  std::shared_ptr<rkernel::Device> gpu_;
  std::vector<Layout> layouts_;
  std::vector<StateMemory> states_;
  MemoryBlock host_;
  rkernel::DeviceBlock device_;
};

}  // namespace dyn::runtime
