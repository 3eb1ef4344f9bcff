// Counts of n-grams, and determinants.

#include <algorithm>
#include <cmath>
#include <vector>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

/// The n-grams of one length, in ascending order, and the columns that count them.
struct Grams {
  std::int64_t length = 0;
  std::span<const std::int64_t> items, columns;

  std::int64_t count() const { return static_cast<std::int64_t>(columns.size()); }

  /// -1 where the items that begin at x, `distance` apart, are none of the n-grams.
  template <class T>
  std::int64_t find(const T* x, std::int64_t distance) const {
    std::int64_t first = 0, last = count();
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      const int order = compare(middle, x, distance);
      if (order == 0) return columns[static_cast<std::size_t>(middle)];
      if (order < 0)
        first = middle + 1;
      else
        last = middle;
    }
    return -1;
  }

 private:
  template <class T>
  int compare(std::int64_t gram, const T* x, std::int64_t distance) const {
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t mine = items[static_cast<std::size_t>(gram * length + i)],
                         other = x[i * distance];
      if (mine != other) return mine < other ? -1 : 1;
    }
    return 0;
  }
};

/// Inputs 1 and 2 have the items and columns of all lengths, one after the other.
std::vector<Grams> grams_of(const Call& call) {
  const auto items = call.inputs[1].elements<const std::int64_t>(),
             columns = call.inputs[2].elements<const std::int64_t>();
  std::vector<Grams> all;
  std::size_t item = 0, column = 0;
  std::int64_t length = graph::attr_integer(call.node, "shortest");
  for (const std::int64_t count : graph::attr_integers(call.node, "counts")) {
    const auto size = static_cast<std::size_t>(count);
    const std::size_t taken = size * static_cast<std::size_t>(length);
    if (item + taken > items.size() || column + size > columns.size()) return {};
    all.push_back({length, items.subspan(item, taken), columns.subspan(column, size)});
    item += taken;
    column += size;
    ++length;
  }
  return all;
}

/// Single items have no distance: they are counted once.
template <class T>
void count_row(const std::vector<Grams>& all, const T* row, std::int64_t extent,
               std::int64_t distances, std::span<float> counts) {
  for (const Grams& grams : all) {
    for (std::int64_t distance = 1; distance <= (grams.length == 1 ? 1 : distances); ++distance) {
      const std::int64_t reach = (grams.length - 1) * distance;
      for (std::int64_t start = 0; start + reach < extent; ++start) {
        const std::int64_t column = grams.find(row + start, distance);
        if (column >= 0 && column < static_cast<std::int64_t>(counts.size()))
          ++counts[static_cast<std::size_t>(column)];
      }
    }
  }
}

Outcome count_ngrams(const Call& call) {
  const Array &x = call.inputs[0], &result = call.outputs[0];
  const std::int64_t extent = x.dims.back(), columns = result.dims.back(),
                     distances = graph::attr_integer(call.node, "skips") + 1;
  const std::vector<Grams> all = grams_of(call);
  const std::span<float> counts = result.elements<float>();
  std::ranges::fill(counts, 0.0F);
  const std::int64_t rows = columns == 0 ? 0 : result.size() / columns;
  visit_numbers(x.dtype, [&](auto zero) {
    const auto* items = static_cast<const decltype(zero)*>(x.data);
    for (std::int64_t row = 0; row < rows; ++row)
      count_row(all, items + row * extent, extent, distances,
                counts.subspan(static_cast<std::size_t>(row * columns),
                               static_cast<std::size_t>(columns)));
  });
  return Outcome::Ok;
}

/// By elimination with the largest pivot of each column; the matrix is lost.
double determinant(std::span<double> matrix, std::size_t n) {
  double product = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::fabs(matrix[i * n + k]) > std::fabs(matrix[pivot * n + k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(matrix.begin() + static_cast<std::ptrdiff_t>(k * n),
                       matrix.begin() + static_cast<std::ptrdiff_t>((k + 1) * n),
                       matrix.begin() + static_cast<std::ptrdiff_t>(pivot * n));
      product = -product;
    }
    product *= matrix[k * n + k];
    if (matrix[k * n + k] == 0) return product;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  return product;
}

Outcome det(const Call& call) {
  const Array &x = call.inputs[0], &result = call.outputs[0];
  const auto n = static_cast<std::size_t>(x.dims.back());
  std::vector<double> matrix(n * n);
  visit_numbers(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* elements = static_cast<const T*>(x.data);
    for (T& each : result.elements<T>()) {
      std::copy_n(elements, matrix.size(), matrix.begin());
      each = static_cast<T>(determinant(matrix, n));
      elements += matrix.size();
    }
  });
  return Outcome::Ok;
}

constexpr Operator counting_family[] = {{graph::OpId::CountNgrams, count_ngrams},
                                        {graph::OpId::Det, det}};

}  // namespace

std::span<const Operator> counting_operators() { return counting_family; }

}  // namespace dyn::host
