// Sliding windows, convolution and pooling: a loop for each axis. Nothing is shared with the
// primitives that the loader splits them into.

#include <cmath>
#include <functional>
#include <limits>

#include "graph/ir/scalars.hpp"
#include "graph/ops/scalar_values.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

/// The windows of a node along `sizes.size()` axes of x that end before axis `end`.
struct Slide {
  std::vector<std::int64_t> sizes, strides, dilations;
  Dims before, after, counts, extents;

  Slide(const OpCall& call, std::vector<std::int64_t> given_sizes, const Dims& given_extents)
      : sizes(std::move(given_sizes)), extents(given_extents) {
    const auto filled = [&](std::vector<std::int64_t> list, std::int64_t value) {
      if (list.empty()) list.assign(sizes.size(), value);
      return list;
    };
    strides = filled(call.integers("strides"), 1);
    dilations = filled(call.integers("dilations"), 1);
    before = filled(call.dims("before"), 0);
    after = filled(call.dims("after"), 0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto span = before[i] + extents[i] + after[i] - ((sizes[i] - 1) * dilations[i] + 1);
      if (span < 0) call.fail("a window is larger than the padded axis");
      counts.push_back(span / strides[i] + 1);
    }
  }

  /// The index of a window's tap in a dense array of `extents`; -1: it is padding.
  std::int64_t element(const Dims& window, const Dims& tap) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto at = window[i] * strides[i] + tap[i] * dilations[i] - before[i];
      if (at < 0 || at >= extents[i]) return -1;
      place = place * extents[i] + at;
    }
    return place;
  }
};

void for_each(const Dims& space, const std::function<void(const Dims&)>& body) {
  if (product(space) == 0) return;
  Dims index(space.size(), 0);
  while (true) {
    body(index);
    std::size_t axis = space.size();
    while (axis > 0 && ++index[axis - 1] == space[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

Dims part(const Dims& dims, std::size_t first, std::size_t last) {
  return {dims.begin() + static_cast<std::ptrdiff_t>(first),
          dims.begin() + static_cast<std::ptrdiff_t>(last)};
}

Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Array> windows(const OpCall& call) {
  const Array& x = call.input(0);
  std::vector<std::size_t> axes;
  for (const auto axis : call.integers("axes"))
    axes.push_back(call.normal_axis(axis, x.dims.size()));
  Dims extents;
  for (const auto axis : axes) extents.push_back(x.dims[axis]);
  const Slide slide(call, call.integers("sizes"), extents);
  const std::size_t after_last = axes.back() + 1;
  Dims dims = x.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = slide.counts[i];
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(after_last), slide.sizes.begin(),
              slide.sizes.end());
  Array result = make_array(x.dtype, dims);
  const Dims dense = dense_strides(x.dims);
  const double value = call.number("value");
  std::size_t next = 0;
  for_each(dims, [&](const Dims& index) {
    Dims place =
        joined(part(index, 0, after_last), part(index, after_last + axes.size(), index.size()));
    bool exists = true;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      auto& at = place[axes[i]];
      at = at * slide.strides[i] + index[after_last + i] * slide.dilations[i] - slide.before[i];
      exists = exists && at >= 0 && at < x.dims[axes[i]];
    }
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) source += place[axis] * dense[axis];
    if (is_float(x.dtype))
      result.floats[next++] = exists ? x.floats[static_cast<std::size_t>(source)] : value;
    else
      result.integers[next++] =
          exists ? x.integers[static_cast<std::size_t>(source)] : graph::saturated(x.dtype, value);
  });
  return {result};
}

/// Filters of group g over channels g * depth ...: filter(tap, channel, result) is filters[(tap *
/// depth + channel) * results + result], group after group or, where `interleaved`, with the
/// results of all groups side by side.
struct Filters {
  const std::vector<double>& elements;
  std::int64_t groups, depth, results;
  bool interleaved;

  double at(std::int64_t group, std::int64_t taps, std::int64_t tap, std::int64_t channel,
            std::int64_t result) const {
    const auto row = tap * depth + channel;
    const auto index = interleaved ? row * groups * results + group * results + result
                                   : (group * taps * depth + row) * results + result;
    return elements[static_cast<std::size_t>(index)];
  }
};

/// x: [batch, extents..., groups * depth], and `outside` beyond; the result is [batch, counts...,
/// groups * results].
std::vector<double> convolve(const Slide& slide, std::int64_t batch, const std::vector<double>& x,
                             double outside, const Filters& filters) {
  std::vector<double> y;
  const auto pixels = product(slide.extents), channels = filters.groups * filters.depth,
             taps = product(Dims(slide.sizes));
  for (std::int64_t image = 0; image < batch; ++image) {
    for_each(slide.counts, [&](const Dims& window) {
      for (std::int64_t group = 0; group < filters.groups; ++group) {
        for (std::int64_t result = 0; result < filters.results; ++result) {
          double sum = 0;
          std::int64_t number = 0;
          for_each(Dims(slide.sizes), [&](const Dims& tap) {
            const auto pixel = slide.element(window, tap);
            for (std::int64_t channel = 0; (pixel >= 0 || outside != 0) && channel < filters.depth;
                 ++channel) {
              const double element =
                  pixel < 0 ? outside
                            : x[static_cast<std::size_t>((image * pixels + pixel) * channels +
                                                         group * filters.depth + channel)];
              sum += element * filters.at(group, taps, number, channel, result);
            }
            ++number;
          });
          y.push_back(sum);
        }
      }
    });
  }
  return y;
}

std::vector<double> numbers_of(const Array& array) {
  return is_float(array.dtype) ? array.floats
                               : std::vector<double>(array.integers.begin(), array.integers.end());
}

/// Both factors, and the padding of the left one.
struct Sides {
  Array x, w;
  double outside;
};

Sides sides_of(const OpCall& call) {
  Sides sides{call.input(0), call.input(1), static_cast<double>(call.integer("value"))};
  if (make_factors(call, sides.x, sides.w))
    sides.outside -= static_cast<double>(call.integer("zero"));
  return sides;
}

/// Sums of integers are i32, which doubles hold exactly.
Array convolved(const Sides& sides, const Slide& slide, std::int64_t batch, const Filters& filters,
                const Dims& dims) {
  Array result = make_array(product_dtype(sides.x.dtype, sides.w.dtype), dims);
  std::vector<double> sums = convolve(slide, batch, numbers_of(sides.x), sides.outside, filters);
  if (!is_float(sides.x.dtype))
    result.integers.assign(sums.begin(), sums.end());
  else
    result.floats = std::move(sums);
  return result;
}

std::vector<Array> window_matmul(const OpCall& call) {
  const Array &x = call.input(0), &w = call.input(1);
  const auto sizes = call.integers("sizes");
  const std::size_t grouped = w.dims.size() == 3, end = x.dims.size() - 1 - grouped,
                    first = end - sizes.size();
  const Slide slide(call, sizes, part(x.dims, first, end));
  const Sides sides = sides_of(call);
  const std::vector<double> weights = numbers_of(sides.w);
  const Filters filters{weights, grouped ? w.dims[0] : 1, x.dims.back(), w.dims.back(), false};
  Dims dims = joined(part(x.dims, 0, first), slide.counts);
  if (grouped) dims.push_back(w.dims[0]);
  dims.push_back(w.dims.back());
  return {convolved(sides, slide, product(x.dims, 0, first), filters, dims)};
}

std::vector<Array> conv(const OpCall& call) {
  const Array &x = call.input(0), &w = call.input(1);
  const std::size_t spatial = w.dims.size() - 2, end = x.dims.size() - 1, first = end - spatial;
  const auto groups = call.integer("groups");
  const Slide slide(call, part(w.dims, 0, spatial), part(x.dims, first, end));
  const Sides sides = sides_of(call);
  const std::vector<double> weights = numbers_of(sides.w);
  const Filters filters{weights, groups, w.dims[spatial], w.dims.back() / groups, true};
  Dims dims = joined(part(x.dims, 0, first), slide.counts);
  dims.push_back(w.dims.back());
  return {convolved(sides, slide, product(x.dims, 0, first), filters, dims)};
}

/// Folds the elements of each window, from `start`; finish(total, number of elements, number of
/// taps) gives the result. `elements` are x's, or those of the result.
template <class Value, class Fold, class Finish>
std::vector<Array> pool(const OpCall& call, std::vector<Value> Array::* elements, Value start,
                        const Fold& fold, const Finish& finish) {
  const Array& x = call.input(0);
  const auto sizes = call.integers("sizes");
  const std::size_t end = x.dims.size() - 1, first = end - sizes.size();
  const Slide slide(call, sizes, part(x.dims, first, end));
  Array result =
      make_array(x.dtype, joined(joined(part(x.dims, 0, first), slide.counts), {x.dims.back()}));
  const auto pixels = product(slide.extents), channels = x.dims.back(), taps = product(Dims(sizes));
  std::size_t next = 0;
  for (std::int64_t image = 0; image < product(x.dims, 0, first); ++image) {
    for_each(slide.counts, [&](const Dims& window) {
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        Value total = start;
        std::int64_t count = 0;
        for_each(Dims(sizes), [&](const Dims& tap) {
          const auto pixel = slide.element(window, tap);
          if (pixel < 0) return;
          total = fold(
              total,
              (x.*
               elements)[static_cast<std::size_t>((image * pixels + pixel) * channels + channel)]);
          ++count;
        });
        (result.*elements)[next++] = finish(total, count, taps);
      }
    });
  }
  return {result};
}

std::vector<Array> max_pool(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  const auto larger = [](double a, double b) { return std::isnan(a) || a > b ? a : b; };
  const auto larger_integer = [dtype](std::int64_t a, std::int64_t b) {
    return graph::scalar::less(dtype, a, b) ? b : a;
  };
  const auto total_alone = [](auto total, std::int64_t, std::int64_t) { return total; };
  if (is_float(dtype))
    return pool(call, &Array::floats, -std::numeric_limits<double>::infinity(), larger,
                total_alone);
  return pool(call, &Array::integers, graph::least(dtype), larger_integer, total_alone);
}

std::vector<Array> average_pool(const OpCall& call) {
  const bool all = call.boolean("include_padding");
  return pool(
      call, &Array::floats, 0.0, [](double a, double b) { return a + b; },
      [all](double total, std::int64_t count, std::int64_t taps) {
        return total / static_cast<double>(all ? taps : count);
      });
}

constexpr OpEntry conv_pool_entries[] = {{graph::OpId::Windows, windows},
                                         {graph::OpId::WindowMatmul, window_matmul},
                                         {graph::OpId::Conv, conv},
                                         {graph::OpId::MaxPool, max_pool},
                                         {graph::OpId::AveragePool, average_pool}};

}  // namespace

std::span<const OpEntry> conv_pool_ops() { return conv_pool_entries; }

}  // namespace dyn::reference
