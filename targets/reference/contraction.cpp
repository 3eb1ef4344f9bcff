// matmul.

#include <algorithm>
#include <utility>

#include "graph/ir/scalars.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

/// c[m, n] += a[m, k] * b[k, n]; K in order for every element of c, n innermost for the cache's
/// sake.
template <class Value>
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const Value* a, const Value* b,
                  Value* c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const Value factor = a[i * k + p];
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += factor * b[p * n + j];
    }
  }
}

/// The last two axes of a dense stack of matrices swapped.
template <class Value>
std::vector<Value> transposed(const std::vector<Value>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<Value> result(values.size());
  const auto size = static_cast<std::size_t>(rows * columns);
  for (std::size_t start = 0; size > 0 && start < values.size(); start += size) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        result[start + static_cast<std::size_t>(j * rows + i)] =
            values[start + static_cast<std::size_t>(i * columns + j)];
      }
    }
  }
  return result;
}

template <class Value>
void multiply_stacks(const Dims& batch, const Dims& a_batch, const Dims& b_batch, std::int64_t m,
                     std::int64_t n, std::int64_t k, const std::vector<Value>& a,
                     const std::vector<Value>& b, std::vector<Value>& c) {
  std::int64_t next = 0;
  for_each_index<2>(batch, {broadcast_strides(a_batch, batch), broadcast_strides(b_batch, batch)},
                    [&](const auto& at) {
                      multiply_add(m, n, k, a.data() + at[0] * m * k, b.data() + at[1] * k * n,
                                   c.data() + next);
                      next += m * n;
                    });
}

std::vector<Array> matmul(const OpCall& call) {
  Array a = call.input(0), b = call.input(1);
  const auto swap_last = [](Array& x) {
    auto &rows = x.dims[x.dims.size() - 2], &columns = x.dims.back();
    x.floats = transposed(x.floats, rows, columns);
    x.integers = transposed(x.integers, rows, columns);
    std::swap(rows, columns);
  };
  if (call.boolean("transpose_a")) swap_last(a);
  if (call.boolean("transpose_b")) swap_last(b);
  const auto m = a.dims[a.dims.size() - 2], k = a.dims.back(), n = b.dims.back();
  if (b.dims[b.dims.size() - 2] != k) call.fail("inner sizes differ");

  const Dims a_batch(a.dims.begin(), a.dims.end() - 2), b_batch(b.dims.begin(), b.dims.end() - 2);
  const Dims batch = broadcast_dims(a_batch, b_batch);
  Dims dims = batch;
  dims.insert(dims.end(), {m, n});
  make_factors(call, a, b);
  Array c = make_array(product_dtype(a.dtype, b.dtype), dims);
  if (is_float(a.dtype)) {
    multiply_stacks(batch, a_batch, b_batch, m, n, k, a.floats, b.floats, c.floats);
  } else {
    // Without signs, because integers wrap around.
    std::vector<std::uint64_t> sums(c.integers.size());
    const auto bits = [](const std::vector<std::int64_t>& integers) {
      return std::vector<std::uint64_t>(integers.begin(), integers.end());
    };
    multiply_stacks(batch, a_batch, b_batch, m, n, k, bits(a.integers), bits(b.integers), sums);
    std::ranges::copy(sums, c.integers.begin());
  }
  return {c};
}

}  // namespace

DType product_dtype(DType left, DType right) {
  if (left == right || right == DType::f32) return right;
  return DType::i32;
}

bool make_factors(const OpCall& call, Array& left, Array& right) {
  if (left.dtype == DType::bf16 && right.dtype == DType::f32) {
    for (double& number : right.floats) number = graph::rounded(DType::bf16, number);
  } else if (!is_float(left.dtype) && is_float(right.dtype)) {
    const std::int64_t zero = call.integer("zero");
    for (const std::int64_t integer : left.integers)
      left.floats.push_back(static_cast<double>(integer - zero));
    left.integers.clear();
    left.dtype = right.dtype;
    return true;
  }
  return false;
}

std::span<const OpEntry> contraction_ops() {
  static constexpr OpEntry entries[] = {{graph::OpId::Matmul, matmul}};
  return entries;
}

}  // namespace dyn::reference
