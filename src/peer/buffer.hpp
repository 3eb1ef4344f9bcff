#pragma once
// Memory for operands: aligned to pages, in huge pages where the system grants them, as dyn's own.

#include <cstddef>
#include <cstdint>

namespace dyn::peer {

class Buffer {
 public:
  Buffer() = default;
  /// Zeroed. Throws Unsupported where there is no memory.
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const noexcept { return data_; }
  float* floats() const noexcept { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// `count` floats in [-1, 1), not symmetric, different for each seed.
Buffer random_floats(std::int64_t count, std::uint32_t seed);

}  // namespace dyn::peer
