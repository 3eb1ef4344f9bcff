// softmax, normalisations and activations, each by its definition.

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/scalar_values.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

/// A line along one axis of a dense array: element i is at values[start + i * stride].
struct Lines {
  std::int64_t length, stride, count;

  Lines(const Dims& dims, std::size_t axis)
      : length(dims[axis]),
        stride(product(dims, axis + 1, dims.size())),
        count(length == 0 ? 0 : product(dims) / length) {}

  std::size_t at(std::int64_t line, std::int64_t i) const {
    return static_cast<std::size_t>(line / stride * stride * length + line % stride + i * stride);
  }
};

std::vector<Array> softmax(const OpCall& call) {
  Array result = call.input(0);
  const Lines lines(result.dims, call.axis("axis", result.dims.size()));
  for (std::int64_t line = 0; line < lines.count; ++line) {
    double peak = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < lines.length; ++i)
      peak = graph::scalar::maximum(peak, result.floats[lines.at(line, i)]);
    double total = 0;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      auto& value = result.floats[lines.at(line, i)];
      value = std::exp(value - peak);
      total += value;
    }
    for (std::int64_t i = 0; i < lines.length; ++i) result.floats[lines.at(line, i)] /= total;
  }
  return {result};
}

/// Scales by input 1 and shifts by input 2 where the node has them; both broadcast.
void scale_and_shift(const OpCall& call, Array& x) {
  for (std::size_t operand = 1; operand < call.inputs.size(); ++operand) {
    const Array& factor = call.input(operand);
    std::size_t next = 0;
    for_each_index<1>(x.dims, {broadcast_strides(factor.dims, x.dims)}, [&](const auto& at) {
      const double value = factor.floats[static_cast<std::size_t>(at[0])];
      auto& target = x.floats[next++];
      target = operand == 1 ? target * value : target + value;
    });
  }
}

std::vector<Array> layer_norm(const OpCall& call) {
  Array result = call.input(0);
  const Lines lines(result.dims, result.dims.size() - 1);
  const auto count = static_cast<double>(lines.length);
  for (std::int64_t line = 0; line < lines.count; ++line) {
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < lines.length; ++i)
      mean += result.floats[lines.at(line, i)] / count;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const double distance = result.floats[lines.at(line, i)] - mean;
      variance += distance * distance / count;
    }
    const double deviation = std::sqrt(variance + call.number("epsilon"));
    for (std::int64_t i = 0; i < lines.length; ++i) {
      auto& value = result.floats[lines.at(line, i)];
      value = (value - mean) / deviation;
    }
  }
  scale_and_shift(call, result);
  return {result};
}

std::vector<Array> rms_norm(const OpCall& call) {
  Array result = call.input(0);
  const Lines lines(result.dims, result.dims.size() - 1);
  for (std::int64_t line = 0; line < lines.count; ++line) {
    double squares = 0;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const double value = result.floats[lines.at(line, i)];
      squares += value * value / static_cast<double>(lines.length);
    }
    const double root = std::sqrt(squares + call.number("epsilon"));
    for (std::int64_t i = 0; i < lines.length; ++i) result.floats[lines.at(line, i)] /= root;
  }
  scale_and_shift(call, result);
  return {result};
}

double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

std::vector<Array> gelu(const OpCall& call) {
  Array result = call.input(0);
  const bool approximate = call.word("approximate") == "tanh";
  for (auto& value : result.floats) value = approximate ? gelu_tanh(value) : gelu_erf(value);
  return {result};
}

std::vector<Array> silu(const OpCall& call) {
  Array result = call.input(0);
  for (auto& value : result.floats) value *= graph::scalar::sigmoid(value);
  return {result};
}

std::vector<Array> unpack_blocks(const OpCall& call) {
  const Array &codes = call.input(0), &scales = call.input(1);
  const std::int64_t bits = call.integer("bits"), base = std::int64_t{1} << bits;
  const auto bytes = static_cast<std::size_t>(codes.dims.back()),
             codes_of_byte = static_cast<std::size_t>(8 / bits), block = codes_of_byte * bytes,
             blocks = static_cast<std::size_t>(scales.dims.back());
  std::vector<std::int64_t> dims = scales.dims;
  dims.back() = call.dim("size");
  Array result = make_array(DType::f32, dims);
  const auto size = static_cast<std::size_t>(result.dims.back());
  for (std::size_t i = 0; i < result.floats.size(); ++i) {
    const std::size_t line = i / size, k = i % size, at = line * blocks + k / block;
    const std::int64_t byte = codes.integers[line * blocks * bytes + k / codes_of_byte];
    const std::int64_t code = k % codes_of_byte == 0 ? byte % base : byte / base;
    const std::int64_t zero = call.inputs.size() > 2 ? call.input(2).integers[at] : base / 2;
    result.floats[i] = static_cast<double>(code - zero) * scales.floats[at];
  }
  return {result};
}

constexpr OpEntry compound_entries[] = {{graph::OpId::Softmax, softmax},
                                        {graph::OpId::UnpackBlocks, unpack_blocks},
                                        {graph::OpId::LayerNorm, layer_norm},
                                        {graph::OpId::RmsNorm, rms_norm},
                                        {graph::OpId::Gelu, gelu},
                                        {graph::OpId::Silu, silu}};

}  // namespace

std::span<const OpEntry> compound_ops() { return compound_entries; }

}  // namespace dyn::reference
