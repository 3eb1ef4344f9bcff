// GridSample and AffineGrid.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/interpolation.hpp"
#include "src/import/onnx/parts/places.hpp"

namespace dyn::onnx {
namespace {

enum class Padding : std::uint8_t { Zeros, Border, Reflection };

struct Sampling {
  Resizing::Curve curve = Resizing::Curve::Linear;
  Padding padding = Padding::Zeros;
  bool align_corners = false;
};

Sampling sampling_of(NodeContext& node) {
  Sampling sampling;
  const std::string mode = node.word("mode", "linear"),
                    padding = node.word("padding_mode", "zeros");
  if (mode == "nearest")
    sampling.curve = Resizing::Curve::Nearest;
  else if (mode == "cubic" || mode == "bicubic")
    sampling.curve = Resizing::Curve::Cubic;
  else if (mode != "linear" && mode != "bilinear")
    node.fail(fmt::format("mode {} is unknown", mode));
  if (padding == "border")
    sampling.padding = Padding::Border;
  else if (padding == "reflection")
    sampling.padding = Padding::Reflection;
  else if (padding != "zeros")
    node.fail(fmt::format("padding_mode {} is unknown", padding));
  sampling.align_corners = node.integer("align_corners", 0) != 0;
  return sampling;
}

/// An axis of the image: its number of elements, and the places at which it is reflected.
struct Border {
  TensorExpr extent, first, last;
};

Border border_of(const Sampling& sampling, const TensorExpr& extent) {
  if (sampling.align_corners) return {extent, extent.scalar(0), extent - 1.0};
  return {extent, extent.scalar(-0.5), extent - 0.5};
}

/// Reflects a place at both ends as often as needed; for whole places the result is exact. Where
/// both ends are one place, every place maps to it.
TensorExpr reflected(const TensorExpr& place, const Border& border) {
  const TensorExpr length = border.last - border.first, period = maximum(length * 2.0, 1.0),
                   from_first = place - border.first;
  return border.last - abs(from_first - floor(from_first / period) * period - length);
}

/// Maps -1 and 1 to the axis' ends: the middles of its outer elements, or their outer borders.
/// Places beyond are reflected, or moved to the border; a cubic curve continues there, and reads
/// the border's element.
TensorExpr place_on_axis(const Sampling& sampling, const TensorExpr& normal, const Border& border) {
  TensorExpr place = sampling.align_corners ? (normal + 1.0) / 2.0 * (border.extent - 1.0)
                                            : ((normal + 1.0) * border.extent - 1.0) / 2.0;
  if (sampling.curve == Resizing::Curve::Nearest) place = round(place);
  if (sampling.padding == Padding::Zeros ||
      (sampling.padding == Padding::Border && sampling.curve == Resizing::Curve::Cubic))
    return place;
  const TensorExpr beyond = either(less(place, border.first), less(border.last, place));
  return where(beyond,
               sampling.padding == Padding::Border ? clamped(place, border.extent)
                                                   : reflected(place, border),
               place);
}

/// A tap whose place is inside, its weight 0 where the padding is.
struct AxisTap {
  TensorExpr place;
  std::optional<TensorExpr> weight;
};

std::vector<AxisTap> taps_on_axis(const Sampling& sampling, const TensorExpr& place,
                                  const Border& border) {
  constexpr float cubic_a = -0.75F;
  std::vector<AxisTap> taps;
  const auto add = [&](const TensorExpr& at, std::optional<TensorExpr> weight) {
    const TensorExpr moved = sampling.padding == Padding::Reflection ? reflected(at, border) : at;
    if (sampling.padding == Padding::Zeros) {
      const TensorExpr inside = is_inside(at, border.extent);
      weight = weight ? where(inside, *weight, 0.0) : cast(inside, DType::f32);
    }
    taps.push_back({cast(clamped(moved, border.extent), DType::i64), weight});
  };
  if (sampling.curve == Resizing::Curve::Nearest) {
    add(place, std::nullopt);
    return taps;
  }
  for (const Tap<TensorExpr>& tap :
       sampling.curve == Resizing::Curve::Linear ? linear_taps(place) : cubic_taps(place, cubic_a))
    add(tap.place, tap.weight);
  return taps;
}

/// Taps of all axes together, each of which is nodes: their number is exponential in the axes.
constexpr std::size_t most_combinations = 256;

/// The sum over all combinations of the axes' taps: [N, o..., C] of an image [N, d..., C].
TensorExpr sampled(const TensorExpr& image, const std::vector<std::vector<AxisTap>>& axes) {
  NodeContext& node = image.node();
  const int rank = static_cast<int>(axes.size()) + 1;
  const TensorExpr batch = along(range(node, image.dims()[0]), 0, rank);
  std::size_t combinations = 1;
  for (const auto& taps : axes) combinations *= taps.size();
  if (combinations > most_combinations)
    node.fail_unsupported(
        fmt::format("an element is a sum of {} taps along {} axes; {} are supported", combinations,
                    axes.size(), most_combinations));
  std::optional<TensorExpr> sum;
  for (std::size_t each = 0; each < combinations; ++each) {
    std::vector<TensorExpr> places{batch};
    std::optional<TensorExpr> weight;
    std::size_t rest = each;
    for (const auto& taps : axes) {
      const AxisTap& tap = taps[rest % taps.size()];
      rest /= taps.size();
      places.push_back(tap.place);
      if (tap.weight) weight = weight ? *weight * *tap.weight : *tap.weight;
    }
    TensorExpr part = gather_at(image, places);
    if (weight) part = part * unsqueeze(*weight, rank);
    sum = sum ? *sum + part : part;
  }
  return *sum;
}

/// The grid's last axis holds the place on each axis of the image, the last axis first.
void convert_grid_sample(NodeContext& node) {
  const Sampling sampling = sampling_of(node);
  const TensorExpr image{node, channels_last(node, node.value(0))}, grid = input_expr(node, 1);
  const int axes = image.rank() - 2, rank = axes + 2;
  if (axes < 1 || grid.rank() != rank)
    node.fail(fmt::format("its grid has {} dims, its input {}", grid.rank(), image.rank()));
  if (grid.dtype() != DType::f32)
    node.fail_unsupported(fmt::format("a grid of {} is not supported", name_of(grid.dtype())));
  if (grid.dims().back().constant().value_or(axes) != axes)
    node.fail(fmt::format("its grid's last dim is {}, but the image has {} axes",
                          graph::to_string(grid.dims().back()), axes));
  std::vector<std::vector<AxisTap>> taps;
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t component = axes - 1 - axis;
    Dims shape = grid.dims();
    shape.pop_back();
    const TensorExpr normal = reshape(
        slice(grid, rank - 1, node.dims().constant(component), node.dims().constant(component + 1)),
        shape);
    const Border border = border_of(
        sampling, size(node, image.dims()[static_cast<std::size_t>(axis) + 1], DType::f32));
    taps.push_back(taps_on_axis(sampling, place_on_axis(sampling, normal, border), border));
  }
  node.give(channels_first(node, sampled(image, taps).id()));
}

/// Places from -1 to 1 on an axis; an axis of one element has -1, or the middle.
TensorExpr normal_places(NodeContext& node, Dim extent, bool align_corners) {
  const TensorExpr place = range(node, extent, DType::f32), count = size(node, extent, DType::f32);
  if (align_corners) return place * 2.0 / maximum(count - 1.0, 1.0) - 1.0;
  return (place * 2.0 + 1.0) / count - 1.0;
}

/// theta [N, k, k + 1] times each place of the image and 1.
void convert_affine_grid(NodeContext& node) {
  const TensorExpr theta = input_expr(node, 0);
  const Dims shape = node.need_dims(1, "its size");
  if (shape.size() < 3 || theta.rank() != 3)
    node.fail("it needs theta with 3 dims, and a size of at least 3 elements");
  const int axes = static_cast<int>(shape.size()) - 2, rank = axes + 2;
  const Dim one = node.dims().constant(1);
  const auto column = [&](std::int64_t index) {
    Dims dims(static_cast<std::size_t>(rank), one);
    dims.front() = theta.dims()[0];
    dims.back() = theta.dims()[1];
    return reshape(slice(theta, 2, node.dims().constant(index), node.dims().constant(index + 1)),
                   dims);
  };
  TensorExpr grid = column(axes);
  for (int axis = 0; axis < axes; ++axis) {
    const TensorExpr places = normal_places(node, shape[static_cast<std::size_t>(axis) + 2],
                                            node.integer("align_corners", 0) != 0);
    grid = grid + column(axes - 1 - axis) * along(places, axis + 1, rank);
  }
  node.give(grid.id());
}

}  // namespace

Family grid_operators() {
  return {{"GridSample", convert_grid_sample, Halves::InF32},
          {"AffineGrid", convert_affine_grid, Halves::InF32}};
}

}  // namespace dyn::onnx
