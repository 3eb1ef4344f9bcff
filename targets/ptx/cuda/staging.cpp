#include "targets/ptx/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

namespace dyn::ptx::cuda {

void Staging::upload(DevicePointer to, const void* from, std::size_t bytes, StreamHandle stream) {
  if (memory_ == nullptr) allocate();
  const auto* source = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    if (used_bytes_ == half_bytes) next_half(stream);
    const std::size_t part = std::min(bytes, half_bytes - used_bytes_);
    std::byte* place = memory_ + current_ * half_bytes + used_bytes_;
    std::memcpy(place, source, part);
    context_.check(context_.driver().cuMemcpyHtoDAsync(to, place, part, stream),
                   "copying to the device");
    used_bytes_ += part;
    source += part;
    to += part;
    bytes -= part;
  }
}

void Staging::allocate() {
  const Driver& driver = context_.driver();
  for (Half& half : halves_) {
    if (half.sent == nullptr)
      context_.check(driver.cuEventCreate(&half.sent, event_disable_timing), "making an event");
  }
  void* memory = nullptr;
  context_.check(driver.cuMemHostAlloc(&memory, halves_.size() * half_bytes, 0),
                 "allocating page-locked host memory");
  memory_ = static_cast<std::byte*>(memory);
}

void Staging::next_half(StreamHandle stream) {
  const Driver& driver = context_.driver();
  context_.check(driver.cuEventRecord(halves_[current_].sent, stream), "recording an event");
  halves_[current_].in_flight = true;
  current_ = 1 - current_;
  used_bytes_ = 0;
  if (!halves_[current_].in_flight) return;
  context_.check(driver.cuEventSynchronize(halves_[current_].sent),
                 "waiting for a copy to the device");
  halves_[current_].in_flight = false;
}

Staging::~Staging() {
  const Context::Scope scope(context_, std::nothrow);
  if (!scope.active()) return;
  for (const Half& half : halves_) {
    if (half.sent != nullptr) context_.driver().cuEventDestroy(half.sent);
  }
  if (memory_ != nullptr) context_.driver().cuMemFreeHost(memory_);
}

}  // namespace dyn::ptx::cuda
