#include "src/runtime/system/memory_block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/huge_pages.hpp"

namespace dyn::runtime {
namespace {

[[noreturn]] void no_memory(std::size_t bytes, const char* what) {
  throw Error(ErrorKind::device, fmt::format("no memory for {} bytes of {}", bytes, what));
}

/// From here on a block lies in huge pages: one is cleared sooner than that many small ones.
constexpr std::size_t least_huge_bytes = huge_page_bytes / 4;

std::size_t rounded(std::size_t bytes, const char* what) {
  const std::size_t unit = bytes >= least_huge_bytes ? huge_page_bytes : page_bytes;
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) no_memory(bytes, what);
  return (bytes + unit - 1) / unit * unit;
}

std::byte* anonymous_memory(std::size_t size, const char* what) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) no_memory(size, what);
  return static_cast<std::byte*>(data);
}

/// Memory of whole huge pages at an aligned address, which they need and not every system gives.
std::byte* huge_memory(std::size_t size, const char* what) {
  std::byte* const wide = anonymous_memory(size + huge_page_bytes, what);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(wide) % huge_page_bytes;
  const std::size_t before = past == 0 ? 0 : huge_page_bytes - past;
  if (before > 0) ::munmap(wide, before);
  if (before < huge_page_bytes) ::munmap(wide + before + size, huge_page_bytes - before);
  ask_for_huge_pages(wide + before, size);
  return wide + before;
}

/// Cache lines, and the widest vectors.
constexpr std::size_t allocated_alignment = 64;

void* asked(Allocator& allocator, std::size_t bytes, const char* what) {
  std::string why;
  try {
    if (void* const memory = allocator.allocate(bytes, allocated_alignment); memory != nullptr)
      return memory;
  } catch (const Error& error) {
    why = ": " + error.message();
  } catch (const std::exception& error) { why = fmt::format(": {}", error.what()); } catch (...) {
    why.clear();
  }
  throw Error(
      ErrorKind::device,
      fmt::format("Options::allocator has no memory for {} bytes of {}{}", bytes, what, why));
}

}  // namespace

std::shared_ptr<void> allocated(std::shared_ptr<Allocator> allocator, std::size_t bytes,
                                const char* what) {
  bytes = std::max(bytes, std::size_t{1});
  void* const memory = asked(*allocator, bytes, what);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  std::shared_ptr<void> owner(memory, [allocator = std::move(allocator), bytes](void* given) {
    allocator->deallocate(given, bytes, allocated_alignment);
  });
  if (address % allocated_alignment == 0) return owner;
  throw Error(ErrorKind::user,
              fmt::format("Options::allocator gave memory at {:#x} for {}, which is no multiple of "
                          "the alignment that it was asked for, {}",
                          address, what, allocated_alignment));
}

MemoryBlock::MemoryBlock(std::size_t bytes, const char* what) {
  if (bytes == 0) return;
  const std::size_t size = rounded(bytes, what);
  data_ = size < huge_page_bytes ? anonymous_memory(size, what) : huge_memory(size, what);
  size_ = size;
}

MemoryBlock::~MemoryBlock() { release(); }

void MemoryBlock::release() noexcept {
  if (allocated_ != nullptr)
    allocated_.reset();
  else if (data_ != nullptr)
    ::munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      allocator_(std::move(other.allocator_)),
      allocated_(std::move(other.allocated_)) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(allocator_, other.allocator_);
  std::swap(allocated_, other.allocated_);
  return *this;
}

void MemoryBlock::grow(std::size_t bytes, const char* what) {
  if (bytes <= size_) return;
  if (allocator_ != nullptr) {
    std::shared_ptr<void> larger = allocated(allocator_, bytes, what);
    if (size_ == 0) std::memset(larger.get(), 0, bytes);
    allocated_ = std::move(larger);
    data_ = allocated_.get();
    size_ = bytes;
    return;
  }
  const std::size_t size = rounded(bytes, what);
  // Small pages within a huge one's place would keep it from being one.
  if (size_ == 0 || (size_ < huge_page_bytes && size >= huge_page_bytes)) {
    *this = MemoryBlock(bytes, what);
    return;
  }
  const bool is_huge = size >= huge_page_bytes;
  void* const place = is_huge ? huge_memory(size, what) : nullptr;
  const int flags = is_huge ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE;
  void* const data = ::mremap(data_, size_, size, flags, place);
  if (data == MAP_FAILED) {
    if (is_huge) ::munmap(place, size);
    no_memory(bytes, what);
  }
  data_ = data;
  size_ = size;
  ask_for_huge_pages(data_, size_);
}

}  // namespace dyn::runtime
