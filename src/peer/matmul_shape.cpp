#include "src/peer/matmul_shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace dyn::peer {
namespace {

constexpr int checked_elements = 16;
constexpr double epsilon = 0x1p-23;

/// The share of a number that rounding to the type may move.
double step_of(Element element) {
  switch (element) {
    case Element::F16: return 0x1p-11;
    case Element::Bf16: return 0x1p-8;
    default: return 0;
  }
}

/// Strides of the batch dims of one operand in whole matrices, 0 where it is broadcast; aligned
/// with the output's from the right.
std::vector<std::int64_t> batch_strides(const Shape& operand, std::size_t batch_rank) {
  std::vector<std::int64_t> strides(batch_rank, 0);
  std::int64_t stride = operand[operand.size() - 2] * operand[operand.size() - 1];
  for (std::size_t back = 3; back <= operand.size(); ++back) {
    const std::int64_t size = operand[operand.size() - back];
    if (size != 1) strides[batch_rank + 2 - back] = stride;
    stride *= size;
  }
  return strides;
}

void add_batch(const Problem& problem, MatmulShape& shape) {
  const Shape& out = problem.output.shape;
  const std::size_t rank = out.size() - 2;
  const auto a = batch_strides(problem.operands[0].shape, rank),
             b = batch_strides(problem.operands[1].shape, rank);
  const std::int64_t count = element_count(Shape(out.begin(), out.end() - 2));
  for (std::int64_t index = 0; index < count; ++index) {
    std::int64_t rest = index, a_begin = 0, b_begin = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      a_begin += rest % out[axis] * a[axis];
      b_begin += rest % out[axis] * b[axis];
      rest /= out[axis];
    }
    shape.a_begin.push_back(a_begin);
    shape.b_begin.push_back(b_begin);
  }
}

/// Consecutive batches of A that share one B become more rows of one matrix.
void join_rows(MatmulShape& shape) {
  const auto batch = static_cast<std::int64_t>(shape.a_begin.size());
  bool joined = !shape.transpose_a && batch > 1;
  for (std::int64_t i = 0; i < batch; ++i) {
    joined = joined && shape.a_begin[static_cast<std::size_t>(i)] == i * shape.m * shape.k &&
             shape.b_begin[static_cast<std::size_t>(i)] == 0;
  }
  if (!joined) return;
  shape.m *= batch;
  shape.a_begin = shape.b_begin = {0};
}

}  // namespace

MatmulShape matmul_shape(const Problem& problem) {
  if (problem.operands.size() != 2 || problem.output.shape.size() < 2)
    throw Unsupported("only products of matrices");
  MatmulShape shape;
  shape.transpose_a = problem.flag("transpose_a");
  shape.transpose_b = problem.flag("transpose_b");
  const Shape &a = problem.operands[0].shape, &out = problem.output.shape;
  shape.m = out[out.size() - 2];
  shape.n = out.back();
  shape.k = a[a.size() - (shape.transpose_a ? 2 : 1)];
  shape.lda = a.back();
  shape.ldb = problem.operands[1].shape.back();
  add_batch(problem, shape);
  join_rows(shape);
  const std::int64_t least = std::min({shape.m, shape.n, shape.k}),
                     most = std::max({shape.m, shape.n, shape.k});
  if (least == 0 || shape.a_begin.empty()) throw Unsupported("an empty problem");
  if (most > std::numeric_limits<int>::max()) throw Unsupported("sizes beyond 31 bits");
  return shape;
}

void check_matmul(const MatmulShape& shape, const Elements& a, const Elements& b,
                  const Elements& c) {
  const auto elements = static_cast<std::int64_t>(shape.a_begin.size()) * shape.m * shape.n;
  for (int sample = 0; sample < checked_elements; ++sample) {
    const std::int64_t place = (elements - 1) * sample / (checked_elements - 1);
    const auto batch = static_cast<std::size_t>(place / (shape.m * shape.n));
    const std::int64_t row = place / shape.n % shape.m, column = place % shape.n;
    double sum = 0, size = 0;
    for (std::int64_t k = 0; k < shape.k; ++k) {
      const double left = a.at(shape.a_begin[batch] +
                               (shape.transpose_a ? k * shape.lda + row : row * shape.lda + k));
      const double right =
          b.at(shape.b_begin[batch] +
               (shape.transpose_b ? column * shape.ldb + k : k * shape.ldb + column));
      sum += left * right;
      size += std::abs(left * right);
    }
    const double found = c.at(place);
    const double allowed =
        static_cast<double>(shape.k + 1) * epsilon * size + step_of(c.element) * std::abs(sum);
    if (!(std::abs(found - sum) <= allowed)) {
      throw Unsupported(
          fmt::format("its result is wrong: element {} is {}, not {}", place, found, sum));
    }
  }
}

}  // namespace dyn::peer
