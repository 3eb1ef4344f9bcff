#pragma once
// dyn::Allocator: the host gives the memory.

#include <cstddef>

#include "dyn/export.hpp"

namespace dyn {

/// Given to graphs by Options::allocator: weights, what runs work in, and the outputs that a run
/// allocates come from here, but nothing small. Any number of threads call it at the same time. It
/// lives as long as graphs, calls and tensors that have memory of it.
class DYN_API Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// At least `bytes`, which is never 0, at a multiple of `alignment`, a power of 2; of any
  /// contents. nullptr, or anything thrown: there is no memory, which is an Error(device) of the
  /// load or the run, with its what(). Memory that is not so aligned is given back: Error(user).
  virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  /// `memory`: of allocate() with the same numbers, given back once.
  virtual void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept = 0;
};

}  // namespace dyn
