#pragma once
// A loop that counts, for as long as a test wants.

#include <cstdint>

#include "dyn/dyn.hpp"

namespace dyn::testing {

inline const char* const counting_loop = R"(dyn 1
dim T
body count(step: i64[], go: bool[], total: i64[T]) -> (goes_on: bool[], next: i64[T]) {
  next = total + step
  return go, next
}
dim N
dim K
graph g(x: i64[N], go: bool[], most: i64[]) -> (last: i64[N]) {
  last = loop(most, go, x) body=count carried=1 scanned=0 conditional=true steps=K dims=[N]
  return last
}
)";

/// No run gets through in a minute.
constexpr std::int64_t steps_without_end = std::int64_t{1} << 60;

inline NamedTensors inputs_of_counting(std::int64_t steps) {
  return {{"x", Tensor::from<std::int64_t>({1, 2}, {2})},
          {"go", Tensor::from<bool>({true}, {})},
          {"most", Tensor::from<std::int64_t>({steps}, {})}};
}

}  // namespace dyn::testing
