#pragma once
// A matmul problem as a loop over row-major matrices.

#include <cstdint>
#include <vector>

#include "src/peer/elements.hpp"
#include "src/peer/problem.hpp"

namespace dyn::peer {

struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0;  ///< row strides in elements, as the operands lie
  std::vector<std::int64_t> a_begin,
      b_begin;  ///< of each matrix of the batch, in elements; c's follow each other
};

/// Rank 2, or batched with broadcasting. A batch of A's rows with one B is one tall matrix. Throws
/// Unsupported for empty sizes, and sizes beyond 31 bits.
MatmulShape matmul_shape(const Problem& problem);

/// The data of one matrix, or of a batch of them.
struct Elements {
  const void* data;
  Element element = Element::F32;
  double at(std::int64_t index) const { return read_element(element, data, index); }
};

/// Compares some elements with sums in double. Throws Unsupported where one is wrong.
void check_matmul(const MatmulShape& shape, const Elements& a, const Elements& b,
                  const Elements& c);

}  // namespace dyn::peer
