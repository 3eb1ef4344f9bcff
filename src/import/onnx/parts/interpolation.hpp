#pragma once
// Computes which elements a resized axis takes its own from. Written once for numbers, where sizes
// are known when the model is imported, and for values of the graph, where they are not: both
// compute in f32, and so alike.

#include <cmath>
#include <string>
#include <vector>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

inline float floor(float x) { return std::floor(x); }
inline float ceil(float x) { return std::ceil(x); }
inline float abs(float x) { return std::fabs(x); }
inline float minimum(float a, float b) { return a < b ? a : b; }
inline float maximum(float a, float b) { return a > b ? a : b; }
inline bool equal(float a, float b) { return a == b; }
inline bool less(float a, float b) { return a < b; }
inline bool less_equal(float a, float b) { return a <= b; }
inline bool both(bool a, bool b) { return a && b; }
inline bool either(bool a, bool b) { return a || b; }
inline float where(bool condition, float a, float b) { return condition ? a : b; }

/// The attributes of Resize.
struct Resizing {
  enum class Curve : std::uint8_t { Nearest, Linear, Cubic } curve = Curve::Nearest;
  enum class Coordinates : std::uint8_t {
    HalfPixel,
    SymmetricHalfPixel,
    PytorchHalfPixel,
    HalfPixelForNearest,
    AlignCorners,
    Asymmetric,
    Crop
  } coordinates = Coordinates::HalfPixel;
  enum class Rounding : std::uint8_t {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
    CeilWhereSmaller
  } rounding = Rounding::PreferFloor;
  bool antialias = false, exclude_outside = false;
  float cubic_a = -0.75F, extrapolation = 0;
};

/// One axis. `Number` is float, or TensorExpr with scalars.
template <class Number>
struct ResizedAxis {
  Number in, out;     ///< elements before and after
  Number scale;       ///< after over before, as given or as the sizes say
  Number width;       ///< scale times `in`: `out` before it was rounded
  Number start, end;  ///< the part of the axis that is taken, from 0 to 1
};

/// On the original axis, where element x of the resized one lies.
template <class Number>
Number original_place(const Resizing& resizing, const Number& x, const ResizedAxis<Number>& axis) {
  using Coordinates = Resizing::Coordinates;
  const auto half_pixel = [&] { return (x + 0.5F) / axis.scale - 0.5F; };
  switch (resizing.coordinates) {
    case Coordinates::HalfPixel: return half_pixel();
    case Coordinates::SymmetricHalfPixel:
      return axis.in / 2.0F * (1.0F - axis.out / axis.width) + half_pixel();
    case Coordinates::PytorchHalfPixel: return where(equal(axis.out, 1.0F), 0.0F, half_pixel());
    case Coordinates::HalfPixelForNearest: return (x + 0.5F) / axis.scale;
    case Coordinates::AlignCorners:
      return where(equal(axis.width, 1.0F), 0.0F, x * (axis.in - 1.0F) / (axis.width - 1.0F));
    case Coordinates::Asymmetric: return x / axis.scale;
    case Coordinates::Crop: break;
  }
  const Number length = axis.in - 1.0F, middle = (axis.end - axis.start) * length / 2.0F;
  const Number inside = where(equal(axis.width, 1.0F), middle,
                              x * (axis.end - axis.start) * length / (axis.width - 1.0F));
  return inside + axis.start * length;
}

/// A whole place, which may be outside of the axis.
template <class Number>
Number nearest_place(const Resizing& resizing, const Number& x, const ResizedAxis<Number>& axis) {
  using Rounding = Resizing::Rounding;
  switch (resizing.rounding) {
    case Rounding::PreferFloor: return ceil(x - 0.5F);
    case Rounding::PreferCeil: return floor(x + 0.5F);
    case Rounding::Floor: return floor(x);
    case Rounding::Ceil: return ceil(x);
    case Rounding::CeilWhereSmaller: break;
  }
  return where(less(axis.scale, 1.0F), ceil(x), floor(x));
}

/// The weights of cubic convolution at a distance of at most 1, and of 1 to 2.
template <class Number>
Number near_weight(const Number& d, float a) {
  return ((a + 2) * d - (a + 3)) * d * d + 1.0F;
}
template <class Number>
Number far_weight(const Number& d, float a) {
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/// A place, whole and maybe outside of the axis, and its weight.
template <class Number>
struct Tap {
  Number place, weight;
};

/// The taps around x; their weights add up to 1.
template <class Number>
std::vector<Tap<Number>> linear_taps(const Number& x) {
  const Number left = floor(x), ratio = x - left;
  return {{left, 1.0F - ratio}, {left + 1.0F, ratio}};
}

template <class Number>
std::vector<Tap<Number>> cubic_taps(const Number& x, float a) {
  const Number left = floor(x), ratio = x - left, rest = 1.0F - ratio;
  return {{left - 1.0F, far_weight(ratio + 1.0F, a)},
          {left, near_weight(ratio, a)},
          {left + 1.0F, near_weight(rest, a)},
          {left + 2.0F, far_weight(rest + 1.0F, a)}};
}

/// The curve's value at a distance, of any size.
template <class Number>
Number weight_at(const Resizing& resizing, const Number& distance) {
  const Number d = abs(distance);
  if (resizing.curve == Resizing::Curve::Linear) return maximum(1.0F - d, 0.0F);
  const float a = resizing.cubic_a;
  return where(less_equal(d, 1.0F), near_weight(d, a),
               where(less(d, 2.0F), far_weight(d, a), 0.0F));
}

template <class Number>
auto is_inside(const Number& place, const Number& in) {
  return both(less_equal(0.0F * place, place), less(place, in));
}

template <class Number>
Number clamped(const Number& place, const Number& in) {
  return minimum(maximum(place, 0.0F), in - 1.0F);
}

}  // namespace dyn::onnx
