// MatMulNBits and GatherBlockQuantized: weights of few bits in blocks, which become floats when the
// model is imported.

#include <algorithm>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/products.hpp"
#include "src/import/onnx/parts/quantization.hpp"

namespace dyn::onnx {
namespace {

std::size_t places(std::int64_t count) { return static_cast<std::size_t>(count); }

std::int64_t positive(NodeContext& node, const char* attribute) {
  const std::int64_t value = node.integer(attribute, 0);
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (value < 1 || value > most)
    node.fail(fmt::format("{} is {}; it must be at least 1", attribute, value));
  return value;
}

/// Unsigned integers of 2, 4 or 8 bits in bytes, the first ones in the lower bits.
class PackedIntegers {
 public:
  PackedIntegers(const Tensor& bytes, std::int64_t bits) : bytes_(bytes.bytes), bits_(bits) {}

  /// Integer i of a row that begins at a byte.
  double at(std::size_t first_byte, std::size_t i) const {
    const std::size_t bit = i * places(bits_);
    const auto byte = static_cast<unsigned char>(bytes_[first_byte + bit / 8]);
    return static_cast<double>((byte >> (bit % 8)) & ((1U << bits_) - 1));
  }
  std::size_t bytes_of(std::size_t count) const { return (count * places(bits_) + 7) / 8; }

 private:
  const std::string& bytes_;
  std::int64_t bits_;
};

/// The attributes and constants that describe a matrix [N, K] in blocks of K.
struct BlockedMatrix {
  std::int64_t n, k, block, bits;

  std::size_t blocks() const { return places((k + block - 1) / block); }
};

const Tensor& constant_of_size(NodeContext& node, std::size_t input, std::size_t elements,
                               const char* what) {
  const Tensor& tensor = node.need_constant(input, what);
  if (places(tensor.elements()) != elements)
    node.fail(fmt::format("{} have {} elements, not {}", what, tensor.elements(), elements));
  return tensor;
}

/// One for each row and block, row by row: integers of the matrix' own bits, or floats.
std::vector<double> zero_points(NodeContext& node, const BlockedMatrix& of, std::size_t input) {
  const std::size_t blocks = of.blocks(), count = places(of.n) * blocks;
  if (!node.has(input))
    return std::vector<double>(count, static_cast<double>(std::int64_t{1} << (of.bits - 1)));
  constexpr const char* what = "its zero points";
  if (node.type_of(input).dtype != DType::u8)
    return numbers_of(constant_of_size(node, input, count, what));
  const std::size_t row = (blocks * places(of.bits) + 7) / 8;
  const PackedIntegers packed(constant_of_size(node, input, places(of.n) * row, what), of.bits);
  std::vector<double> zeros;
  for (std::size_t i = 0; i < count; ++i) zeros.push_back(packed.at(i / blocks * row, i % blocks));
  return zeros;
}

/// The block of each element of a row: as the groups say where there are any.
std::vector<std::size_t> block_places(NodeContext& node, const BlockedMatrix& of,
                                      std::size_t groups) {
  std::vector<std::size_t> which;
  for (std::int64_t i = 0; i < of.k; ++i) which.push_back(places(i / of.block));
  if (!node.has(groups)) return which;
  const std::vector<std::int64_t> given = node.need_integers(groups, "its group indices");
  if (given.size() < which.size())
    node.fail(fmt::format("it has {} group indices, and needs {}", given.size(), of.k));
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (given[i] < 0 || places(given[i]) >= of.blocks())
      node.fail(fmt::format("group index {} is outside of {} blocks", given[i], of.blocks()));
    which[i] = places(given[i]);
  }
  return which;
}

/// Y = A * B^T + bias, where B is [N, K], packed in blocks.
void convert_matmul_n_bits(NodeContext& node) {
  constexpr std::size_t b = 1, scales_input = 2, zeros_input = 3, groups = 4, bias = 5;
  const BlockedMatrix of{positive(node, "N"), positive(node, "K"), positive(node, "block_size"),
                         node.integer("bits", 4)};
  if (of.bits != 2 && of.bits != 4 && of.bits != 8)
    node.fail_unsupported(fmt::format("weights of {} bits are not supported", of.bits));
  if (of.block < 16 || (of.block & (of.block - 1)) != 0)
    node.fail(fmt::format("block_size is {}; it must be a power of two from 16 on", of.block));
  if (node.integer("weight_prepacked", 0) != 0)
    node.fail_unsupported("weights in the order of one GPU are not supported");
  const std::size_t blocks = of.blocks(), blob = places(of.block * of.bits / 8);
  const Tensor& packed =
      constant_of_size(node, b, places(of.n) * blocks * blob, "its packed weights");
  const std::vector<double> scales = numbers_of(constant_of_size(
                                node, scales_input, places(of.n) * blocks, "its scales")),
                            zeros = zero_points(node, of, zeros_input);
  const std::vector<std::size_t> which = block_places(node, of, groups);
  const PackedIntegers integers(packed, of.bits);
  const auto k = places(of.k);
  Tensor unpacked{DType::u8, {of.n, of.k}, {}};
  unpacked.bytes.reserve(places(of.n) * k);
  for (std::size_t row = 0; row < places(of.n); ++row) {
    for (std::size_t i = 0; i < k; ++i)
      unpacked.bytes.push_back(static_cast<char>(integers.at(row * blocks * blob, i)));
  }
  Operand weights{
      graph::no_value,
      std::make_shared<const Tensor>(dequantized(
          unpacked, scales, zeros, [&](std::size_t i) { return i / k * blocks + which[i % k]; })),
      std::nullopt};
  const TensorExpr a = input_expr(node, 0),
                   factor{node, node.value_of(weights, node.node().input(1))};
  TensorExpr y = numpy_matmul(a, factor, false, true);
  if (node.has(bias)) y = y + input_expr(node, bias);
  node.give(y.id());
}

}  // namespace

Family packed_weight_operators() { return {{"MatMulNBits", convert_matmul_n_bits, Halves::InF32}}; }

}  // namespace dyn::onnx
