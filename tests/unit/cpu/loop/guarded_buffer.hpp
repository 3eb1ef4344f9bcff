#pragma once
// Memory that ends at an inaccessible page and begins after marked bytes detects accesses outside
// of it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace dyn::testing {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes + margin + page - 1) / page * page;
    mapped_ = inner + page;
    void* mapping =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::uint8_t*>(mapping);
    std::memset(base_, mark, inner);
    mprotect(base_ + inner, page, PROT_NONE);
    data_ = base_ + inner - bytes;
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : bytes_(other.bytes_),
        mapped_(other.mapped_),
        base_(std::exchange(other.base_, nullptr)),
        data_(other.data_) {}
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// False where something wrote before the buffer.
  bool intact() const {
    for (const std::uint8_t* at = base_; at < data_; ++at)
      if (*at != mark) return false;
    return true;
  }

 private:
  static constexpr std::size_t margin = 256;
  static constexpr std::uint8_t mark = 0xA5;
  std::size_t bytes_, mapped_;
  std::uint8_t *base_, *data_;
};

}  // namespace dyn::testing
