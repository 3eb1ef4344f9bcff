#pragma once
// Memory, a clock and a number of rounds for measuring this machine.

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "dyn/error.hpp"

namespace dyn::cpu {

/// Rounds from which a figure is taken: most are the best of them.
inline constexpr int measured_rounds = 7;

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Anonymous memory with pages in it, huge ones where the system has them.
class MeasureBuffer {
 public:
  explicit MeasureBuffer(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw Error(ErrorKind::device, "no memory to measure this machine");
    madvise(data_, bytes, MADV_HUGEPAGE);
    auto* words = static_cast<std::uint64_t*>(data_);
    for (std::size_t i = 0; i < bytes / 8; i += 8) words[i] = i;
  }
  ~MeasureBuffer() { munmap(data_, bytes_); }
  MeasureBuffer(const MeasureBuffer&) = delete;
  MeasureBuffer& operator=(const MeasureBuffer&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace dyn::cpu
