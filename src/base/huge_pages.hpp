#pragma once
// Large blocks of memory lie in huge pages.

#include <sys/mman.h>

#include <cstddef>

namespace dyn {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Asks for huge pages where a block is large enough for one; a system may refuse. Kernels read
/// rows that lie pages apart, and processors know few small pages.
inline void ask_for_huge_pages(void* data, std::size_t bytes) {
  if (bytes >= huge_page_bytes) ::madvise(data, bytes, MADV_HUGEPAGE);
}

}  // namespace dyn
