#include "src/import/onnx/parts/interpolate.hpp"

#include "graph/ir/scalars.hpp"

#include <functional>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

/// A tap for all elements of the resized axis, and a mask of those that lie on the axis at all.
struct Chosen {
  TensorExpr places;                  ///< i64 [out], or [out, taps]
  std::optional<TensorExpr> weights;  ///< the same shape; none: the elements themselves
};

struct Choice {
  std::vector<Chosen> taps;
  bool sums = false;                  ///< adds up the taps of the only entry
  std::optional<TensorExpr> outside;  ///< bool [out]: where the extrapolated value stands
};

using Curve = Resizing::Curve;

template <class Number>
std::vector<Tap<Number>> curve_taps(const Resizing& resizing, const Number& x,
                                    const ResizedAxis<Number>& axis) {
  if (resizing.curve == Curve::Nearest)
    return {{nearest_place(resizing, x, axis), 0.0F * x + 1.0F}};
  std::vector<Tap<Number>> taps =
      resizing.curve == Curve::Linear ? linear_taps(x) : cubic_taps(x, resizing.cubic_a);
  if (!resizing.exclude_outside) return taps;
  for (Tap<Number>& tap : taps)
    tap.weight = where(is_inside(tap.place, axis.in), tap.weight, 0.0F * tap.weight);
  Number sum = taps[0].weight;
  for (std::size_t i = 1; i < taps.size(); ++i) sum = sum + taps[i].weight;
  for (Tap<Number>& tap : taps) tap.weight = tap.weight / sum;
  return taps;
}

/// The reach of a smaller axis' curve, in elements of the original axis; each element has that many
/// taps on either side.
Dim reach_of(const Resizing& resizing, const AxisRequest& request) {
  const std::int64_t radius = resizing.curve == Curve::Linear ? 1 : 2;
  graph::DimTable& dims = request.in.table();
  if (request.scale)
    return dims.constant(graph::saturated(
        DType::i64, std::ceil(static_cast<float>(radius) / std::min(*request.scale, 1.0F))));
  const Dim divisor = max(request.out, dims.constant(1));
  return max(dims.constant(radius), floordiv(request.in * radius + divisor - 1, divisor));
}

/// The weight of tap `step`, counted from 0, of `2 * reach` around x.
template <class Number>
Tap<Number> wide_tap(const Resizing& resizing, const Number& x, const Number& step,
                     const ResizedAxis<Number>& axis, const Number& reach) {
  const Number place = ceil(x) - reach + step;
  const Number weight = weight_at(resizing, (place - x) * minimum(axis.scale, 1.0F));
  if (!resizing.exclude_outside) return {place, weight};
  return {place, where(is_inside(place, axis.in), weight, 0.0F * weight)};
}

bool is_crop(const Resizing& resizing) {
  return resizing.coordinates == Resizing::Coordinates::Crop;
}

/// Taps as values of the graph, for sizes that are not known.
class InGraph {
 public:
  InGraph(NodeContext& node, const Resizing& resizing, const AxisRequest& request)
      : node_(node), resizing_(resizing), request_(request), axis_(axis()) {}

  Choice choose() {
    const TensorExpr x = original_place(resizing_, range(node_, request_.out, DType::f32), axis_);
    Choice choice;
    if (is_crop(resizing_)) choice.outside = either(less(x, 0.0), less(axis_.in - 1.0F, x));
    if (resizing_.antialias) {
      choice.sums = true;
      choice.taps.push_back(wide(x));
      return choice;
    }
    for (const Tap<TensorExpr>& tap : curve_taps(resizing_, x, axis_)) {
      choice.taps.push_back({place(tap.place), resizing_.curve == Curve::Nearest
                                                   ? std::nullopt
                                                   : std::optional(tap.weight)});
    }
    return choice;
  }

 private:
  TensorExpr number(float value) const {
    return {node_, node_.builder().number(DType::f32, static_cast<double>(value))};
  }

  ResizedAxis<TensorExpr> axis() const {
    const TensorExpr in = size(node_, request_.in, DType::f32),
                     out = size(node_, request_.out, DType::f32);
    const bool given = request_.scale || request_.scale_value;
    const TensorExpr scale = request_.scale         ? number(*request_.scale)
                             : request_.scale_value ? *request_.scale_value
                                                    : out / in;
    const TensorExpr start = request_.part_values
                                 ? request_.part_values->first
                                 : number(request_.part ? request_.part->first : 0);
    const TensorExpr end = request_.part_values ? request_.part_values->second
                                                : number(request_.part ? request_.part->second : 1);
    return {in, out, scale, given ? scale * in : out, start, end};
  }

  TensorExpr place(const TensorExpr& place) const {
    return cast(clamped(place, axis_.in), DType::i64);
  }

  Chosen wide(const TensorExpr& x) const {
    const Dim reach = reach_of(resizing_, request_);
    const TensorExpr step = along(range(node_, reach * 2, DType::f32), 1, 2);
    const Tap<TensorExpr> tap =
        wide_tap(resizing_, along(x, 0, 2), step, axis_, size(node_, reach, DType::f32));
    return {place(tap.place), tap.weight / reduce("reduce_sum", tap.weight, {1}, true)};
  }

  NodeContext& node_;
  const Resizing& resizing_;
  const AxisRequest& request_;
  ResizedAxis<TensorExpr> axis_;
};

/// Taps as constants, for known sizes.
class Folded {
 public:
  Folded(NodeContext& node, const Resizing& resizing, const AxisRequest& request)
      : node_(node), resizing_(resizing), request_(request), axis_(axis()) {}

  /// Large axes are left to the graph: their taps would be weights larger than the model.
  static bool can(const Resizing& resizing, const AxisRequest& request) {
    constexpr std::int64_t most_taps = std::int64_t{1} << 18;
    if (!request.in.constant() || !request.out.constant() || request.scale_value ||
        request.part_values)
      return false;
    const std::int64_t each =
        resizing.antialias ? reach_of(resizing, request).constant().value_or(most_taps) : 1;
    return *request.out.constant() <= most_taps && each <= most_taps &&
           *request.out.constant() * each <= most_taps;
  }

  Choice choose() {
    std::vector<Tap<float>> taps;
    Integers outside;
    const auto out = static_cast<std::int64_t>(axis_.out);
    for (std::int64_t i = 0; i < out; ++i) {
      const float x = original_place(resizing_, static_cast<float>(i), axis_);
      outside.push_back(x < 0 || x > axis_.in - 1 ? 1 : 0);
      const std::vector<Tap<float>> of_element =
          resizing_.antialias ? wide(x) : curve_taps(resizing_, x, axis_);
      taps.insert(taps.end(), of_element.begin(), of_element.end());
    }
    const std::int64_t count = out == 0 ? 1 : static_cast<std::int64_t>(taps.size()) / out;
    Choice choice;
    if (is_crop(resizing_)) choice.outside = equal(integers(node_, {out}, outside), 1.0);
    choice.sums = resizing_.antialias;
    if (choice.sums) choice.taps.push_back(chosen(taps, {out, count}, 0, 1));
    for (std::int64_t i = 0; !choice.sums && i < count; ++i)
      choice.taps.push_back(chosen(taps, {out}, i, count));
    return choice;
  }

 private:
  ResizedAxis<float> axis() const {
    const auto in = static_cast<float>(*request_.in.constant()),
               out = static_cast<float>(*request_.out.constant());
    const float scale = request_.scale.value_or(out / in);
    return {in,
            out,
            scale,
            request_.scale ? scale * in : out,
            request_.part ? request_.part->first : 0,
            request_.part ? request_.part->second : 1};
  }

  std::vector<Tap<float>> wide(float x) const {
    const auto reach = static_cast<float>(*reach_of(resizing_, request_).constant());
    std::vector<Tap<float>> taps;
    float sum = 0;
    for (float step = 0; step < 2 * reach; ++step) {
      taps.push_back(wide_tap(resizing_, x, step, axis_, reach));
      sum += taps.back().weight;
    }
    for (Tap<float>& tap : taps) tap.weight /= sum;
    return taps;
  }

  /// Every `step`-th tap from the first on.
  Chosen chosen(const std::vector<Tap<float>>& taps, const Integers& dims, std::int64_t first,
                std::int64_t step) const {
    Integers places;
    std::vector<float> weights;
    for (std::size_t i = static_cast<std::size_t>(first); i < taps.size();
         i += static_cast<std::size_t>(step)) {
      places.push_back(static_cast<std::int64_t>(clamped(taps[i].place, axis_.in)));
      weights.push_back(taps[i].weight);
    }
    Chosen chosen{integers(node_, dims, places), std::nullopt};
    if (resizing_.curve != Curve::Nearest) chosen.weights = floats(node_, dims, weights);
    return chosen;
  }

  NodeContext& node_;
  const Resizing& resizing_;
  const AxisRequest& request_;
  ResizedAxis<float> axis_;
};

/// With dims of 1 behind, so that it broadcasts along the axes after `axis`.
TensorExpr before_axes(const TensorExpr& x, std::ptrdiff_t after) {
  Dims dims = x.dims();
  dims.insert(dims.end(), static_cast<std::size_t>(after), x.node().dims().constant(1));
  return reshape(x, dims);
}

/// Repeats each element, which needs no gather: where the places say just that.
std::optional<TensorExpr> repeated(const TensorExpr& x, const Resizing& resizing,
                                   const AxisRequest& request) {
  using Coordinates = Resizing::Coordinates;
  using Rounding = Resizing::Rounding;
  const Coordinates coordinates = resizing.coordinates;
  const Rounding rounding = resizing.rounding;
  const bool rounds_down = rounding == Rounding::Floor || rounding == Rounding::CeilWhereSmaller;
  const bool from_left =
      (coordinates == Coordinates::Asymmetric || coordinates == Coordinates::HalfPixelForNearest) &&
      rounds_down;
  const bool centered = coordinates == Coordinates::HalfPixel &&
                        (rounding == Rounding::PreferFloor || rounding == Rounding::PreferCeil);
  if (resizing.curve != Curve::Nearest || request.scale_value || (!from_left && !centered))
    return std::nullopt;
  std::optional<std::int64_t> times;
  if (request.scale && *request.scale >= 1 && std::floor(*request.scale) == *request.scale)
    times = graph::saturated(DType::i64, *request.scale);
  if (!request.scale && request.in.constant().value_or(0) > 0 && request.out.constant() &&
      *request.out.constant() % *request.in.constant() == 0)
    times = *request.out.constant() / *request.in.constant();
  if (!times || *times < 1 || graph::prove_equal(request.in * *times, request.out) != true)
    return std::nullopt;
  const auto place = static_cast<std::ptrdiff_t>(request.axis);
  Dims apart = x.dims(), more, together = apart;
  together[static_cast<std::size_t>(place)] = request.out;
  apart.insert(apart.begin() + place + 1, x.node().dims().constant(1));
  more = apart;
  more[static_cast<std::size_t>(place) + 1] = x.node().dims().constant(*times);
  return reshape(expand(reshape(x, apart), more), together);
}

}  // namespace

TensorExpr interpolate(const TensorExpr& x, const Resizing& resizing, const AxisRequest& request) {
  if (const std::optional<TensorExpr> again = repeated(x, resizing, request)) return *again;
  NodeContext& node = x.node();
  if (request.out.constant().value_or(0) < 0)
    node.fail(fmt::format("axis {} would have the size {}", request.axis, *request.out.constant()));
  const Choice choice = Folded::can(resizing, request) ? Folded(node, resizing, request).choose()
                                                       : InGraph(node, resizing, request).choose();
  const std::ptrdiff_t after = x.rank() - request.axis - 1;
  std::optional<TensorExpr> sum;
  for (const Chosen& chosen : choice.taps) {
    TensorExpr part = gather(x, chosen.places, request.axis);
    if (chosen.weights) part = part * before_axes(*chosen.weights, after);
    sum = sum ? *sum + part : part;
  }
  if (choice.sums) sum = reduce("reduce_sum", *sum, {request.axis + 1}, false);
  if (choice.outside)
    sum = where(before_axes(*choice.outside, after), static_cast<double>(resizing.extrapolation),
                *sum);
  return *sum;
}

}  // namespace dyn::onnx
