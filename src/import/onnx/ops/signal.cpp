// Fourier transforms as products with matrices of cosines, and the windows and filters that go with
// them.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// A matrix with more elements is not made when the model is imported.
constexpr std::int64_t most_constant = std::int64_t{1} << 24;

/// The transform of one axis: so many elements, real or of two parts, of a signal of `length`; so
/// many frequencies.
struct Transform {
  Dim elements, length, frequencies;
  std::int64_t parts = 1;
  bool inverse = false;
  /// The elements are the first half of a spectrum whose signal is real, which alone is the result.
  bool to_real = false;

  std::int64_t result_parts() const { return to_real ? 1 : 2; }
};

/// Element n, part i to frequency k, part j: cos(2 pi n k / length + (i - j) pi / 2), with the
/// opposite sign of n k for the forward transform. An element of half a spectrum stands for its
/// conjugate too, but for the first one and the one in the middle.
float factor(const Transform& transform, std::int64_t n, std::int64_t i, std::int64_t k,
             std::int64_t j) {
  const std::int64_t length = *transform.length.constant();
  const double turns = static_cast<double>(n * k % length) / static_cast<double>(length) *
                           (transform.inverse ? 1 : -1) +
                       static_cast<double>(i - j) / 4;
  const bool is_twice = transform.to_real && n != 0 && 2 * n != length;
  const double scale = transform.inverse ? (is_twice ? 2 : 1) / static_cast<double>(length) : 1;
  return static_cast<float>(scale * std::cos(2 * std::numbers::pi * turns));
}

TensorExpr constant_matrix(NodeContext& node, const Transform& transform) {
  const std::int64_t elements = *transform.elements.constant(),
                     frequencies = *transform.frequencies.constant();
  std::vector<float> matrix;
  const std::int64_t parts = transform.result_parts();
  matrix.reserve(static_cast<std::size_t>(elements * transform.parts * frequencies * parts));
  for (std::int64_t n = 0; n < elements; ++n) {
    for (std::int64_t i = 0; i < transform.parts; ++i) {
      for (std::int64_t k = 0; k < frequencies; ++k) {
        for (std::int64_t j = 0; j < parts; ++j) matrix.push_back(factor(transform, n, i, k, j));
      }
    }
  }
  return floats(node, {elements * transform.parts, frequencies * parts}, matrix);
}

/// The same for sizes that are not known. Multiples of whole turns are subtracted as integers, so
/// that the rest keeps its precision.
TensorExpr computed_matrix(NodeContext& node, const Transform& transform) {
  constexpr int rank = 4;
  const Dim parts = node.dims().constant(transform.parts),
            result_parts = node.dims().constant(transform.result_parts());
  const TensorExpr n = along(range(node, transform.elements), 0, rank),
                   k = along(range(node, transform.frequencies), 2, rank),
                   length = size(node, transform.length);
  const TensorExpr i = along(range(node, parts, DType::f32), 1, rank),
                   j = along(range(node, result_parts, DType::f32), 3, rank);
  const TensorExpr turns = cast(mod(n * k, length), DType::f32) / cast(length, DType::f32);
  const TensorExpr angle =
      ((transform.inverse ? turns : -turns) + (i - j) * 0.25) * (2 * std::numbers::pi);
  TensorExpr matrix = transform.inverse ? cos(angle) / cast(length, DType::f32) : cos(angle);
  if (transform.to_real)
    matrix = where(either(equal(n, 0.0), equal(n * 2.0, length)), matrix, matrix * 2.0);
  return reshape(matrix,
                 {transform.elements * transform.parts, transform.frequencies * result_parts});
}

/// [..., elements, parts] (or [..., elements] of one part) to [..., frequencies, parts of the
/// result].
TensorExpr transformed(const TensorExpr& x, const Transform& transform, const Dims& leading) {
  NodeContext& node = x.node();
  const std::optional<std::int64_t> elements = transform.elements.constant(),
                                    frequencies = transform.frequencies.constant(),
                                    length = transform.length.constant();
  if (length && *length < 1)
    node.fail(fmt::format("the length of its transform is {}, and must be at least 1", *length));
  const bool is_constant = elements && frequencies && length && *elements <= most_constant &&
                           *frequencies <= most_constant &&
                           *elements * *frequencies <= most_constant;
  const TensorExpr matrix =
      is_constant ? constant_matrix(node, transform) : computed_matrix(node, transform);
  Dims shape = leading;
  shape.insert(shape.end(),
               {transform.frequencies, node.dims().constant(transform.result_parts())});
  const TensorExpr rows =
      reshape(x, {product(node, leading), transform.elements * transform.parts});
  return reshape(matmul(rows, matrix), shape);
}

Dim frequencies_of(NodeContext& node, Dim length, bool onesided) {
  return onesided ? floordiv(length, node.dims().constant(2)) + 1 : length;
}

/// The axis as an attribute up to opset 19, as an input from then on.
int dft_axis(NodeContext& node, int rank) {
  constexpr int axis_is_input = 20;
  std::int64_t axis = node.opset() < axis_is_input ? node.integer("axis", 1) : -2;
  if (node.has(2)) axis = node.need_integer(2, "axis");
  const int place = node.axis(axis, rank);
  if (place == rank - 1) node.fail("its axis is the last, which holds real and imaginary parts");
  return place;
}

std::int64_t parts_of(NodeContext& node, Dim last) {
  const std::optional<std::int64_t> parts = last.constant();
  if (parts != 1 && parts != 2)
    node.fail(fmt::format("the last dim of its input must be 1, for real numbers, or 2, not {}",
                          graph::to_string(last)));
  return *parts;
}

void convert_dft(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const int rank = x.rank();
  if (rank < 2) node.fail("its input must have at least 2 dims");
  const int axis = dft_axis(node, rank);
  Transform transform;
  transform.parts = parts_of(node, x.dims().back());
  transform.inverse = node.integer("inverse", 0) != 0;
  const bool onesided = node.integer("onesided", 0) != 0;
  transform.to_real = transform.inverse && onesided;
  const Dim extent = x.dims()[static_cast<std::size_t>(axis)];
  transform.length = node.has(1)         ? node.need_dim(1, "dft_length")
                     : transform.to_real ? (extent - 1) * 2
                                         : extent;
  // A shorter signal has zeros behind it, which add nothing.
  transform.elements = min(extent, frequencies_of(node, transform.length, transform.to_real));
  transform.frequencies = frequencies_of(node, transform.length, onesided && !transform.to_real);
  Integers perm(static_cast<std::size_t>(rank)), back(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + axis, perm.begin() + axis + 1, perm.end() - 1);
  for (std::size_t i = 0; i < perm.size(); ++i)
    back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  TensorExpr signal = transpose(x, perm);
  if (!(transform.elements == extent))
    signal = slice(signal, rank - 2, node.dims().constant(0), transform.elements);
  Dims leading = signal.dims();
  leading.resize(leading.size() - 2);
  node.give(transpose(transformed(signal, transform, leading), back).id());
}

/// The transform of each frame of the signal, times the window.
void convert_stft(NodeContext& node) {
  constexpr std::size_t window_input = 2, length_input = 3;
  TensorExpr signal = input_expr(node, 0);
  if (signal.rank() != 2 && signal.rank() != 3)
    node.fail(fmt::format("its signal must have 2 or 3 dims, not {}", signal.rank()));
  const std::int64_t parts = signal.rank() == 2 ? 1 : parts_of(node, signal.dims().back());
  if (signal.rank() == 3 && parts == 1)
    signal = reshape(signal, {signal.dims()[0], signal.dims()[1]});
  const std::int64_t step = node.need_integer(1, "frame_step");
  std::optional<std::int64_t> length;
  if (node.has(length_input))
    length = node.need_integer(length_input, "frame_length");
  else if (!node.has(window_input))
    length = signal.dims()[1].constant();
  else if (const Dims window = node.type_of(window_input).dims; window.size() == 1)
    length = window[0].constant();
  if (!length) node.fail_unsupported("the length of its frames must be constant");
  if (step < 1 || *length < 1) node.fail("frame_step and frame_length must be at least 1");
  TensorExpr frames =
      apply("windows", {signal},
            {node.integer_list("axes", Integers{1}), node.integer_list("sizes", Integers{*length}),
             node.integer_list("strides", Integers{step})});
  if (node.has(window_input))
    frames = frames * along(input_expr(node, window_input), 0, parts == 1 ? 1 : 2);
  const Dim extent = node.dims().constant(*length);
  const Transform transform{
      extent, extent, frequencies_of(node, extent, node.integer("onesided", 1) != 0),
      parts,  false,  false};
  node.give(transformed(frames, transform, {frames.dims()[0], frames.dims()[1]}).id());
}

DType datatype_of(NodeContext& node) {
  return node.attribute("output_datatype") != nullptr ? node.dtype("output_datatype") : DType::f32;
}

/// a - b * cos(2 pi n / N) + c * cos(4 pi n / N); N is one less than the size where the window ends
/// as it begins.
void give_window(NodeContext& node, double a, double b, double c) {
  const Dims sizes = node.need_dims(0, "its size");
  if (sizes.size() != 1) node.fail("its size must be a scalar");
  const bool periodic = node.integer("periodic", 1) != 0;
  const Dim period = max(periodic ? sizes[0] : sizes[0] - 1, node.dims().constant(1));
  const TensorExpr angle =
      range(node, sizes[0], DType::f32) / size(node, period, DType::f32) * (2 * std::numbers::pi);
  TensorExpr window = a - cos(angle) * b;
  if (c != 0) window = window + cos(angle * 2.0) * c;
  node.give(cast(window, datatype_of(node)).id());
}

void convert_hann(NodeContext& node) { give_window(node, 0.5, 0.5, 0); }
void convert_hamming(NodeContext& node) { give_window(node, 25.0 / 46, 21.0 / 46, 0); }
void convert_blackman(NodeContext& node) { give_window(node, 0.42, 0.5, 0.08); }

/// Triangles over the bins of a spectrum, each from the middle of the one before to that of the one
/// after, at equal steps of the mel scale.
void convert_mel_weight_matrix(NodeContext& node) {
  const std::int64_t count = node.need_integer(0, "num_mel_bins"),
                     length = node.need_integer(1, "dft_length");
  const double rate = node.need_number(2, "sample_rate"),
               low = node.need_number(3, "lower_edge_hertz"),
               high = node.need_number(4, "upper_edge_hertz");
  if (count < 1 || length < 1 || rate <= 0)
    node.fail("num_mel_bins, dft_length and sample_rate must be above 0");
  if (count > most_constant || length > most_constant || (length / 2 + 1) * count > most_constant)
    node.fail_unsupported(fmt::format(
        "its matrix of {} bins for {} frequencies is too large for a constant", count, length));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(count + 2);
  const std::int64_t rows = length / 2 + 1;
  Integers bins;
  for (std::int64_t i = 0; i < count + 2; ++i) {
    const double hertz =
        700 * (std::pow(10.0, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    bins.push_back(
        graph::saturated(DType::i64, std::floor(static_cast<double>(length + 1) * hertz / rate)));
    if (bins.back() < 0 || bins.back() >= rows)
      node.fail(
          fmt::format("{} Hz is outside of a spectrum of {} bins at {} Hz", hertz, rows, rate));
  }
  std::vector<float> matrix(static_cast<std::size_t>(rows * count));
  const auto element = [&](std::int64_t row, std::int64_t column) -> float& {
    return matrix[static_cast<std::size_t>(row * count + column)];
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t left = bins[static_cast<std::size_t>(i)],
                       middle = bins[static_cast<std::size_t>(i) + 1],
                       right = bins[static_cast<std::size_t>(i) + 2];
    if (left == middle) element(middle, i) = 1;
    for (std::int64_t j = left; j <= middle && left < middle; ++j)
      element(j, i) =
          static_cast<float>(static_cast<double>(j - left) / static_cast<double>(middle - left));
    for (std::int64_t j = middle; j < right; ++j)
      element(j, i) =
          static_cast<float>(static_cast<double>(right - j) / static_cast<double>(right - middle));
  }
  node.give(cast(floats(node, {rows, count}, matrix), datatype_of(node)).id());
}

}  // namespace

Family signal_operators() {
  return {{"DFT", convert_dft, Halves::InF32},  {"STFT", convert_stft, Halves::InF32},
          {"HannWindow", convert_hann},         {"HammingWindow", convert_hamming},
          {"BlackmanWindow", convert_blackman}, {"MelWeightMatrix", convert_mel_weight_matrix}};
}

}  // namespace dyn::onnx
