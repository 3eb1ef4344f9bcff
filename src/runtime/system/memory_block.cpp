#include "src/runtime/system/memory_block.hpp"

#include <sys/mman.h>

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/huge_pages.hpp"

namespace dyn::runtime {
namespace {

[[noreturn]] void no_memory(std::size_t bytes, const char* what) {
  throw Error(ErrorKind::device, fmt::format("no memory for {} bytes of {}", bytes, what));
}

/// Small blocks in pages, large ones in huge pages.
std::size_t rounded(std::size_t bytes, const char* what) {
  const std::size_t unit = bytes >= huge_page_bytes ? huge_page_bytes : page_bytes;
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) no_memory(bytes, what);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

MemoryBlock::MemoryBlock(std::size_t bytes, const char* what) {
  if (bytes == 0) return;
  const std::size_t size = rounded(bytes, what);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) no_memory(bytes, what);
  data_ = data;
  size_ = size;
  ask_for_huge_pages(data_, size_);
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MemoryBlock::grow(std::size_t bytes, const char* what) {
  if (bytes <= size_) return;
  if (data_ == nullptr) {
    *this = MemoryBlock(bytes, what);
    return;
  }
  const std::size_t size = rounded(bytes, what);
  void* data = ::mremap(data_, size_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) no_memory(bytes, what);
  data_ = data;
  size_ = size;
  ask_for_huge_pages(data_, size_);
}

}  // namespace dyn::runtime
