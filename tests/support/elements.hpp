#pragma once
// A tensor's elements, for comparisons.

#include <vector>

#include "dyn/tensor.hpp"

namespace dyn::testing {

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.data<T>().begin(), tensor.data<T>().end()};
}

}  // namespace dyn::testing
