#pragma once
// A short list without heap memory.

#include <array>
#include <cstddef>

namespace dyn {

/// Up to `capacity` values, kept in place: choosing takes microseconds, of which calls of the heap
/// would be a visible part.
template <class T, std::size_t capacity>
class InlineVector {
 public:
  /// Throws std::out_of_range where there is no room.
  void push_back(const T& value) {
    values_.at(size_) = value;
    ++size_;
  }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  const T& front() const { return values_.front(); }

 private:
  std::array<T, capacity> values_{};
  std::size_t size_ = 0;
};

}  // namespace dyn
