// Memory from the system: it is zero at first, grows step by step, and large blocks are aligned.

#include "src/runtime/system/memory_block.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/base/huge_pages.hpp"

namespace dyn::runtime {
namespace {

bool is_aligned(const MemoryBlock& block, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(block.data()) % bytes == 0;
}

TEST_CASE("memory block: each size has its bytes, zero at first, and large ones are aligned") {
  for (const std::size_t bytes : {std::size_t{1}, page_bytes + 1, huge_page_bytes / 4 - 1,
                                  huge_page_bytes / 4, huge_page_bytes, huge_page_bytes * 3 + 1}) {
    CAPTURE(bytes);
    const MemoryBlock block(bytes, "a test");
    REQUIRE(block.size() >= bytes);
    CHECK(is_aligned(block, block.size() < huge_page_bytes ? page_bytes : huge_page_bytes));
    for (std::size_t i = 0; i < block.size(); i += 512) REQUIRE(block.data()[i] == std::byte{0});
    std::memset(block.data(), 1, block.size());
  }
}

TEST_CASE("memory block: it grows through small and huge pages and never shrinks") {
  MemoryBlock block;
  std::size_t last = 0;
  for (const std::size_t bytes :
       {std::size_t{3}, 2 * page_bytes, std::size_t{100}, 9 * page_bytes, huge_page_bytes / 2,
        huge_page_bytes + 1, huge_page_bytes, 5 * huge_page_bytes, 5 * huge_page_bytes + 1}) {
    CAPTURE(bytes);
    block.grow(bytes, "a test");
    REQUIRE(block.size() >= std::max(bytes, last));
    if (block.size() >= huge_page_bytes) CHECK(is_aligned(block, huge_page_bytes));
    std::memset(block.data(), 2, block.size());
    last = block.size();
  }
}

TEST_CASE("memory block: where there is no memory the block stays as it is") {
  for (const std::size_t had : {page_bytes, huge_page_bytes}) {
    MemoryBlock block(had, "a test");
    std::memset(block.data(), 7, block.size());
    const std::size_t size = block.size();
    for (const std::size_t bytes :
         {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 8}) {
      CHECK_THROWS_AS(block.grow(bytes, "a test"), Error);
      CHECK(block.size() == size);
      CHECK(block.data()[size - 1] == std::byte{7});
    }
  }
}

/// Gives memory of ones.
class Ones final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = ::operator new(bytes, std::align_val_t(alignment));
    std::memset(memory, 1, bytes);
    return memory;
  }
  void deallocate(void* memory, std::size_t, std::size_t alignment) noexcept override {
    ::operator delete(memory, std::align_val_t(alignment));
  }
};

TEST_CASE(
    "memory block: that of an allocator is zero at first, and has the size that it was asked for") {
  MemoryBlock block(std::make_shared<Ones>());
  for (int again = 0; again < 2; ++again) {
    block.grow(1000, "a test");
    CHECK(block.size() == 1000);
    for (std::size_t i = 0; i < 1000; ++i) REQUIRE(block.data()[i] == std::byte{0});
    block.grow(5000, "a test");
    CHECK(block.size() == 5000);
    MemoryBlock moved = std::move(block);
    CHECK(moved.size() == 5000);
    CHECK(block.size() == 0);
    block = std::move(moved);
    CHECK(block.size() == 5000);
    block.release();
    CHECK(block.data() == nullptr);
  }
}

}  // namespace
}  // namespace dyn::runtime
