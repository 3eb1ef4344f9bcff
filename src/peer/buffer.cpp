#include "src/peer/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/peer/problem.hpp"

namespace dyn::peer {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr std::int64_t random_period = 1'000'003;  // a prime: rows of usual lengths differ

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw Unsupported("there is not enough memory");
  }
  if (bytes_ >= huge_page_bytes) madvise(data_, bytes_, MADV_HUGEPAGE);
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer random_floats(std::int64_t count, std::uint32_t seed) {
  Buffer buffer(static_cast<std::size_t>(count) * sizeof(float));
  float* data = buffer.floats();
  std::uint32_t state = seed * 2654435761U + 12345U;
  const std::int64_t first = std::min(count, random_period);
  for (std::int64_t i = 0; i < first; ++i) {
    state = state * 1664525U + 1013904223U;
    data[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
  }
  for (std::int64_t done = first; done < count; done += random_period) {
    std::memcpy(data + done, data,
                static_cast<std::size_t>(std::min(count - done, random_period)) * sizeof(float));
  }
  return buffer;
}

}  // namespace dyn::peer
