// RoiAlign and MaxRoiPool: parts of images, each as a grid of bins.

#include <limits>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/interpolation.hpp"
#include "src/import/onnx/parts/places.hpp"

namespace dyn::onnx {
namespace {

/// [R, 1] column of the regions.
TensorExpr column(const TensorExpr& regions, std::int64_t index) {
  NodeContext& node = regions.node();
  return slice(regions, 1, node.dims().constant(index), node.dims().constant(index + 1));
}

struct Alignment {
  std::int64_t bins;     ///< along the axis
  std::int64_t samples;  ///< for each bin; 0: as many as elements of the image fit into it
  double scale, offset;
  bool at_least_one;  ///< a region's size
};

/// Samples of one axis of the image, all [R, bins, samples].
struct Samples {
  TensorExpr low, high, low_weight, high_weight;
  std::optional<TensorExpr> is_sample;  ///< where their number depends on the region
  std::optional<TensorExpr> count;      ///< [R, 1, 1] for each bin
};

/// The number of samples of a bin where the region decides it: enough for any region that is no
/// larger than the image, and a little more.
Dim most_samples(const Alignment& alignment, Dim extent) {
  return floordiv(extent + (alignment.bins - 1), extent.table().constant(alignment.bins)) + 2;
}

Samples samples_of(const Alignment& alignment, const TensorExpr& first, const TensorExpr& last,
                   Dim extent) {
  NodeContext& node = first.node();
  constexpr int rank = 3;
  const auto in_front = [&](const TensorExpr& x) {
    return reshape(x, {x.dims()[0], node.dims().constant(1), node.dims().constant(1)});
  };
  const TensorExpr start = in_front(first * alignment.scale - alignment.offset),
                   end = in_front(last * alignment.scale - alignment.offset);
  const TensorExpr length = alignment.at_least_one ? maximum(end - start, 1.0) : end - start;
  const auto bins = static_cast<double>(alignment.bins);
  const TensorExpr bin_size = length / bins,
                   bin = along(range(node, node.dims().constant(alignment.bins), DType::f32), 1,
                               rank);
  const bool adapts = alignment.samples == 0;
  const Dim most =
      adapts ? most_samples(alignment, extent) : node.dims().constant(alignment.samples);
  const TensorExpr sample = along(range(node, most, DType::f32), 2, rank);
  std::optional<TensorExpr> count, is_sample;
  if (adapts) {
    // A region with more samples than there are places for is an error when the model runs.
    count =
        cast(checked_indices(cast(maximum(ceil(bin_size), 0.0), DType::i64), most + 1), DType::f32);
    is_sample = less(expand(sample, {first.dims()[0], bin.dims()[1], most}), *count);
  }
  const TensorExpr per_bin =
      count ? maximum(*count, 1.0) : first.scalar(static_cast<double>(alignment.samples));
  const TensorExpr place = start + bin * bin_size + (sample + 0.5) * bin_size / per_bin;
  const TensorExpr size_of_axis = size(node, extent, DType::f32);
  const TensorExpr inside =
      cast(both(less_equal(place.scalar(-1), place), less_equal(place, size_of_axis)), DType::f32);
  const TensorExpr bounded = clamped(place, size_of_axis), low = floor(bounded),
                   rest = bounded - low;
  const TensorExpr high = minimum(low + 1.0, size_of_axis - 1.0);
  return {cast(low, DType::i64),
          cast(high, DType::i64),
          (1.0 - rest) * inside,
          rest * inside,
          is_sample,
          count};
}

/// [R, bins, samples] of the rows as [R, bins, samples, 1, 1], and of the columns as [R, 1, 1,
/// bins, samples].
TensorExpr as_rows(const TensorExpr& x) {
  const Dim one = x.node().dims().constant(1);
  return reshape(x, {x.dims()[0], x.dims()[1], x.dims()[2], one, one});
}
TensorExpr as_columns(const TensorExpr& x) {
  const Dim one = x.node().dims().constant(1);
  return reshape(x, {x.dims()[0], one, one, x.dims()[1], x.dims()[2]});
}

/// The four elements around each sample, each times its weight: [R, rows, samples, columns,
/// samples, C].
std::vector<TensorExpr> weighted_corners(const TensorExpr& image, const TensorExpr& batch,
                                         const Samples& rows, const Samples& columns) {
  std::vector<TensorExpr> corners;
  for (const auto& [row, row_weight] :
       {std::pair{rows.low, rows.low_weight}, std::pair{rows.high, rows.high_weight}}) {
    for (const auto& [across, column_weight] : {std::pair{columns.low, columns.low_weight},
                                                std::pair{columns.high, columns.high_weight}}) {
      const TensorExpr weight = as_rows(row_weight) * as_columns(column_weight);
      corners.push_back(gather_at(image, {batch, as_rows(row), as_columns(across)}) *
                        unsqueeze(weight, weight.rank()));
    }
  }
  return corners;
}

TensorExpr mean_of(const std::vector<TensorExpr>& corners, const Samples& rows,
                   const Samples& columns) {
  const Integers over{2, 4};
  const TensorExpr sample = corners[0] + corners[1] + corners[2] + corners[3];
  if (!rows.count) return reduce("reduce_mean", sample, over, false);
  const TensorExpr counts = both(as_rows(*rows.is_sample), as_columns(*columns.is_sample));
  const TensorExpr sum =
      reduce("reduce_sum", where(unsqueeze(counts, counts.rank()), sample, 0.0), over, false);
  const TensorExpr count = maximum(*rows.count * *columns.count, 1.0);
  return sum / unsqueeze(count, count.rank());
}

TensorExpr greatest_of(const std::vector<TensorExpr>& corners, const Samples& rows,
                       const Samples& columns) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Integers over{2, 4};
  const TensorExpr sample =
      maximum(maximum(corners[0], corners[1]), maximum(corners[2], corners[3]));
  if (!rows.count) return reduce("reduce_max", sample, over, false);
  const TensorExpr counts = both(as_rows(*rows.is_sample), as_columns(*columns.is_sample));
  const TensorExpr greatest =
      reduce("reduce_max", where(unsqueeze(counts, counts.rank()), sample, -infinity), over, false);
  return where(equal(greatest, -infinity), 0.0, greatest);
}

std::int64_t at_least_one(NodeContext& node, const char* name) {
  const std::int64_t value = node.integer(name, 1);
  if (value < 1) node.fail(fmt::format("{} must be at least 1", name));
  return value;
}

TensorExpr image_of(NodeContext& node) {
  node.require_rank(0, 4);
  return {node, channels_last(node, node.value(0))};
}

/// The regions; where the import is strict, one that is not finite is an error of the run.
TensorExpr regions_of(NodeContext& node) {
  const TensorExpr regions = input_expr(node, 1);
  if (!node.is_strict()) return regions;
  const double greatest = std::numeric_limits<float>::max();
  const TensorExpr is_not_finite =
      cast(either(less(regions, -greatest), negated(less_equal(regions, greatest))), DType::i64);
  return regions + cast(checked_indices(is_not_finite, node.dims().constant(1)), DType::f32);
}

/// Before opset 16 a region has at least the size 1, and its places are not shifted to the middles
/// of elements.
void convert_roi_align(NodeContext& node) {
  constexpr int has_modes = 16;
  node.require_rank(1, 2);
  node.require_rank(2, 1);
  const TensorExpr image = image_of(node), regions = regions_of(node),
                   batches = cast(input_expr(node, 2), DType::i64);
  const std::string coordinates =
                        node.word("coordinate_transformation_mode",
                                  node.opset() < has_modes ? "output_half_pixel" : "half_pixel"),
                    mode = node.word("mode", "avg");
  if (mode != "avg" && mode != "max") node.fail(fmt::format("mode {} is unknown", mode));
  const bool half_pixel = coordinates == "half_pixel";
  if (!half_pixel && coordinates != "output_half_pixel")
    node.fail(fmt::format("coordinate_transformation_mode {} is unknown", coordinates));
  const std::int64_t samples = node.integer("sampling_ratio", 0);
  if (samples < 0) node.fail("sampling_ratio must not be negative");
  const double scale = node.number("spatial_scale", 1), offset = half_pixel ? 0.5 : 0;
  const Samples columns =
      samples_of({at_least_one(node, "output_width"), samples, scale, offset, !half_pixel},
                 column(regions, 0), column(regions, 2), image.dims()[2]);
  const Samples rows =
      samples_of({at_least_one(node, "output_height"), samples, scale, offset, !half_pixel},
                 column(regions, 1), column(regions, 3), image.dims()[1]);
  const TensorExpr batch = along(checked_indices(batches, image.dims()[0]), 0, 5);
  const std::vector<TensorExpr> corners = weighted_corners(image, batch, rows, columns);
  const TensorExpr result =
      mode == "avg" ? mean_of(corners, rows, columns) : greatest_of(corners, rows, columns);
  node.give(channels_first(node, result.id()));
}

/// To the nearest integer, halves away from 0.
TensorExpr rounded_away(const TensorExpr& x) {
  return where(less(x, 0.0), ceil(x - 0.5), floor(x + 0.5));
}

/// True where an element of the axis is in a bin: bool [R, bins, extent]. Bins begin and end at
/// whole elements, and overlap where they share one.
TensorExpr in_bin(const TensorExpr& first, const TensorExpr& last, std::int64_t bins, double scale,
                  Dim extent) {
  NodeContext& node = first.node();
  constexpr int rank = 3;
  const auto in_front = [&](const TensorExpr& x) {
    return reshape(x, {x.dims()[0], node.dims().constant(1), node.dims().constant(1)});
  };
  const TensorExpr start = in_front(rounded_away(first * scale)),
                   end = in_front(rounded_away(last * scale));
  const TensorExpr bin_size = maximum(end - start + 1.0, 1.0) / static_cast<double>(bins),
                   bin = along(range(node, node.dims().constant(bins), DType::f32), 1, rank);
  const TensorExpr element = along(range(node, extent, DType::f32), 2, rank);
  return both(less_equal(floor(bin * bin_size) + start, element),
              less(element, ceil((bin + 1.0) * bin_size) + start));
}

/// The greatest element of each bin, along one axis after the other; 0 where a bin is empty.
void convert_max_roi_pool(NodeContext& node) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  node.require_rank(1, 2);
  const TensorExpr image = image_of(node), regions = input_expr(node, 1);
  const Integers shape = node.integers("pooled_shape").value_or(Integers{});
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    node.fail("it needs pooled_shape, two integers of at least 1");
  const double scale = node.number("spatial_scale", 1);
  const Dims dims = image.dims();
  const Dim count = regions.dims()[0], one = node.dims().constant(1),
            down = node.dims().constant(shape[0]), across = node.dims().constant(shape[1]);
  const TensorExpr batch =
      reshape(checked_indices(cast(column(regions, 0), DType::i64), dims[0]), {count});
  const TensorExpr rows = in_bin(column(regions, 2), column(regions, 4), shape[0], scale, dims[1]),
                   columns =
                       in_bin(column(regions, 1), column(regions, 3), shape[1], scale, dims[2]);
  // [R, H, 1, W, C] to [R, H, across, C], and [R, 1, H, across, C] to [R, down, across, C].
  const TensorExpr parts =
      reshape(gather(image, batch, 0), {count, dims[1], one, dims[2], dims[3]});
  const TensorExpr by_row = reduce(
      "reduce_max", where(reshape(columns, {count, one, across, dims[2], one}), parts, -infinity),
      {3}, false);
  const TensorExpr by_bin =
      where(reshape(rows, {count, down, dims[1], one, one}),
            reshape(by_row, {count, one, dims[1], across, dims[3]}), -infinity);
  const TensorExpr greatest = reduce("reduce_max", by_bin, {2}, false);
  node.give(channels_first(node, where(equal(greatest, -infinity), 0.0, greatest).id()));
}

}  // namespace

Family region_operators() {
  return {{"RoiAlign", convert_roi_align, Halves::InF32},
          {"MaxRoiPool", convert_max_roi_pool, Halves::InF32}};
}

}  // namespace dyn::onnx
