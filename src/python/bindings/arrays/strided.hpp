#pragma once
// Memory as NumPy and DLPack describe it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/python/bindings/arrays/given.hpp"

namespace dyn::python {

struct Strided {
  void* data;
  DType dtype;
  Shape shape;
  std::vector<std::int64_t> strides;  ///< in bytes; empty: dense
  bool writable;

  bool is_dense() const;
  bool is_aligned() const;
  /// Dense, aligned memory of its own.
  Tensor copy() const;
  /// Only for memory that is dense and aligned.
  Tensor view() const;
};

/// The tensor, which borrows from `loan` where it is a view.
Given to_given(const Strided& strided, std::unique_ptr<Loan> loan, const Role& role, Layout layout);

}  // namespace dyn::python
