#include "src/runtime/session/session_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/plan/arena_layout.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

constexpr const char* what = "the states of a session";

std::size_t to_bytes(DType dtype, const Shape& shape) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(static_cast<std::size_t>(element_count(shape)), size_of(dtype),
                              &bytes))
    return bytes;
  user_error(
      fmt::format("a state of shape {} has more bytes than can be addressed", to_string(shape)));
}

/// Places one behind the other.
class Places {
 public:
  explicit Places(std::size_t alignment) : alignment_(alignment) {}
  std::size_t add(std::size_t bytes) {
    const std::size_t place = end_;
    const std::size_t padded = (bytes + alignment_ - 1) / alignment_ * alignment_;
    if (padded < bytes || __builtin_add_overflow(end_, padded, &end_))
      user_error("the states have more bytes than can be addressed");
    return place;
  }
  std::size_t end() const noexcept { return end_; }

 private:
  std::size_t alignment_, end_ = 0;
};

Strips whole(std::size_t bytes) { return {0, bytes, bytes, bytes > 0 ? 1 : 0}; }

}  // namespace

SessionMemory::SessionMemory(const Executable& executable, std::span<const std::int64_t> symbols) {
  for (const graph::AppendedState& state : executable.states())
    layouts_.push_back(layout_of(executable.module(), state, symbols));
  allocate(executable);
}

SessionMemory::Layout SessionMemory::layout_of(const graph::Module& module,
                                               const graph::AppendedState& state,
                                               std::span<const std::int64_t> symbols) {
  const graph::TensorType& type = module.value(state.state).type;
  Layout layout;
  layout.dtype = type.dtype;
  for (const graph::Dim dim : type.dims) layout.shape.push_back(graph::evaluate(dim, symbols));
  const auto axis = static_cast<std::size_t>(state.axis);
  layout.bytes = to_bytes(type.dtype, layout.shape);
  layout.positions = layout.shape.empty() ? 1 : layout.shape[axis];
  for (std::size_t i = 0; i < axis; ++i) layout.blocks *= layout.shape[i];
  if (layout.bytes > 0)
    layout.position_bytes =
        layout.bytes / static_cast<std::size_t>(layout.blocks * layout.positions);
  layout.at_length = state.at_length;
  return layout;
}

void SessionMemory::allocate(const Executable& executable) {
  Places on_host(arena_alignment), on_device(device_alignment);
  std::vector<std::size_t> host_places, device_places;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const StateUse use = executable.state_use(i);
    host_places.push_back(use.on_host ? on_host.add(layouts_[i].bytes) : 0);
    // Launches want an address of an empty state too.
    device_places.push_back(
        use.on_device ? on_device.add(std::max(layouts_[i].bytes, std::size_t{1})) : 0);
  }
  if (on_host.end() > 0) host_ = MemoryBlock(on_host.end(), what);
  if (on_device.end() > 0) allocate_on_device(executable, on_device.end());
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const StateUse use = executable.state_use(i);
    StateMemory& state = states_.emplace_back();
    if (use.on_host) state.host = host_.data() + host_places[i];
    if (use.on_device && device_.address() != 0)
      state.device = {device_.address() + device_places[i], layouts_[i].bytes, false};
  }
}

void SessionMemory::allocate_on_device(const Executable& executable, std::size_t bytes) {
  gpu_ = executable.device();
  if (gpu_ == nullptr) return;
  try {
    device_ = rkernel::DeviceBlock(*gpu_, bytes, what);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device || !executable.release_idle_memory()) throw;
    device_ = rkernel::DeviceBlock(*gpu_, bytes, what);
  }
  with_stream([&](rkernel::Stream& stream) { stream.clear(device_.address(), bytes); });
}

template <class Work>
void SessionMemory::with_stream(const Work& work) const {
  try {
    const std::unique_ptr<rkernel::Stream> stream = gpu_->make_stream();
    work(*stream);
    stream->synchronise();
  } catch (const Error& error) { throw error.within(fmt::format("{} on {}", what, gpu_->name())); }
}

std::size_t SessionMemory::bytes_below(std::int64_t length) const {
  std::size_t bytes = 0;
  for (const Layout& layout : layouts_) {
    const std::int64_t positions =
        layout.at_length ? std::min(length, layout.positions) : layout.positions;
    bytes += static_cast<std::size_t>(layout.blocks * positions) * layout.position_bytes;
  }
  return bytes;
}

std::int64_t SessionMemory::room() const {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  for (const Layout& layout : layouts_) {
    if (layout.at_length) room = std::min(room, layout.positions);
  }
  return room;
}

Strips SessionMemory::positions(const Layout& layout, std::int64_t first, std::int64_t last) {
  last = std::min(last, layout.positions);
  if (layout.bytes == 0 || first >= last) return {};
  Strips strips;
  strips.offset = static_cast<std::size_t>(first) * layout.position_bytes;
  strips.bytes = static_cast<std::size_t>(last - first) * layout.position_bytes;
  strips.stride = static_cast<std::size_t>(layout.positions) * layout.position_bytes;
  strips.count = layout.blocks;
  return strips.bytes == strips.stride ? whole(layout.bytes) : strips;
}

void SessionMemory::clear(std::span<const Strips> strips) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].host == nullptr) continue;
    for_each_strip(strips[i], [&](std::size_t offset, std::size_t bytes) {
      std::memset(static_cast<std::byte*>(states_[i].host) + offset, 0, bytes);
    });
  }
  if (device_.address() == 0) return;
  with_stream([&](rkernel::Stream& stream) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].device.begin == 0) continue;
      for_each_strip(strips[i], [&](std::size_t offset, std::size_t bytes) {
        stream.clear(states_[i].device.begin + offset, bytes);
      });
    }
  });
}

void SessionMemory::clear(std::int64_t first, std::int64_t last) {
  if (first >= last) return;
  std::vector<Strips> strips;
  for (const Layout& layout : layouts_)
    strips.push_back(layout.at_length ? positions(layout, first, last) : Strips());
  clear(strips);
}

void SessionMemory::clear_fixed() {
  std::vector<Strips> strips;
  for (const Layout& layout : layouts_)
    strips.push_back(layout.at_length ? Strips() : whole(layout.bytes));
  clear(strips);
}

void SessionMemory::set_changing(std::int64_t first, std::int64_t last) {
  for (std::size_t i = 0; i < layouts_.size(); ++i)
    states_[i].changing =
        layouts_[i].at_length ? positions(layouts_[i], first, last) : whole(layouts_[i].bytes);
}

std::vector<Tensor> SessionMemory::views() const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const Layout& layout = layouts_[i];
    tensors.push_back(layout.bytes > 0 ? Tensor::view(layout.dtype, states_[i].host, layout.shape)
                                       : Tensor(layout.dtype, layout.shape));
  }
  return tensors;
}

Tensor SessionMemory::read(std::size_t state) const {
  const StateMemory& memory = states_[state];
  Tensor tensor(layouts_[state].dtype, layouts_[state].shape);
  const std::size_t bytes = layouts_[state].bytes;
  if (bytes == 0) return tensor;
  if (memory.host != nullptr) {
    std::memcpy(tensor.raw(), memory.host, bytes);
  } else if (memory.device.begin != 0) {
    with_stream([&](rkernel::Stream& stream) {
      stream.download(tensor.raw(), memory.device.begin, bytes);
    });
  }
  return tensor;
}

void SessionMemory::write(std::size_t state, const Tensor& tensor) {
  const StateMemory& memory = states_[state];
  const std::size_t bytes = layouts_[state].bytes;
  if (bytes == 0) return;
  if (memory.host != nullptr) std::memcpy(memory.host, tensor.raw(), bytes);
  if (memory.device.begin == 0) return;
  with_stream(
      [&](rkernel::Stream& stream) { stream.upload(memory.device.begin, tensor.raw(), bytes); });
}

}  // namespace dyn::runtime
