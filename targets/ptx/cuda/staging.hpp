#pragma once
// Uploads go through page-locked host memory.

#include <array>
#include <cstddef>

#include "targets/ptx/cuda/context.hpp"

namespace dyn::ptx::cuda {

/// Two halves, one filled while the other is copied. So the caller may reuse the source of an
/// upload at once, be it pageable or page-locked (from where the driver would still read later).
/// And uploads do not wait for the stream's earlier work, as the driver's copies from pageable
/// memory do ("API synchronization behavior" of the CUDA driver API). To be used with the context
/// current, and by one thread at a time.
class Staging {
 public:
  explicit Staging(const Context& context) : context_(context) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  void upload(DevicePointer to, const void* from, std::size_t bytes, StreamHandle stream);

 private:
  static constexpr std::size_t half_bytes = std::size_t{2} << 20;

  struct Half {
    EventHandle sent = nullptr;  ///< the device has copied the half when this event is complete
    bool in_flight = false;
  };
  void allocate();
  void next_half(StreamHandle stream);

  const Context& context_;
  std::byte* memory_ = nullptr;
  std::array<Half, 2> halves_;
  std::size_t current_ = 0, used_bytes_ = 0;
};

}  // namespace dyn::ptx::cuda
