// MatMulNBits and GatherBlockQuantized: weights of few bits in blocks, which stay as they are
// (those of 2 bits as 4); where unpack_blocks cannot say it, they become floats when the model is
// imported.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "graph/ir/codes.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/products.hpp"

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

/// Rows of `count` unsigned integers of 2, 4 or 8 bits, each row in bytes of its own, the first
/// integers in the lower bits; as bytes.
std::string unpacked_rows(const std::string& packed, std::size_t row_bytes, std::size_t count,
                          std::int64_t bits) {
  std::string integers;
  integers.reserve(row_bytes > 0 ? packed.size() / row_bytes * count : 0);
  for (std::size_t first = 0; first + row_bytes <= packed.size() && row_bytes > 0;
       first += row_bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bit = i * places(bits);
      const auto byte = static_cast<unsigned char>(packed[first + bit / 8]);
      integers.push_back(static_cast<char>((byte >> (bit % 8)) & ((1U << bits) - 1)));
    }
  }
  return integers;
}

std::size_t packed_bytes(std::size_t count, std::int64_t bits) {
  return (count * places(bits) + 7) / 8;
}

/// The numbers of bits and of elements in a block that the node gives.
struct Packing {
  std::int64_t bits, block;
};

Packing packing_of(NodeContext& node, std::int64_t usual_block) {
  const Packing packing{node.integer("bits", 4), node.integer("block_size", usual_block)};
  if (packing.bits != 2 && packing.bits != 4 && packing.bits != 8)
    node.fail_unsupported(fmt::format("weights of {} bits are not supported", packing.bits));
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (packing.block < 16 || packing.block > most || (packing.block & (packing.block - 1)) != 0)
    node.fail(fmt::format("block_size is {}; it must be a power of two from 16 on", packing.block));
  return packing;
}

const Tensor& constant_of_size(NodeContext& node, std::size_t input, std::size_t elements,
                               const char* what) {
  const Tensor& tensor = node.need_constant(input, what);
  if (places(tensor.elements()) != elements)
    node.fail(fmt::format("{} have {} elements, not {}", what, tensor.elements(), elements));
  return tensor;
}

/// A zero point for each of `rows` rows of `count` scales: integers of the weights' own bits, or
/// floats; the middle of what the bits hold where the input is left out.
std::vector<double> zero_points(NodeContext& node, std::size_t input, std::size_t rows,
                                std::size_t count, std::int64_t bits) {
  constexpr const char* what = "its zero points";
  if (!node.has(input))
    return std::vector<double>(rows * count, static_cast<double>(std::int64_t{1} << (bits - 1)));
  if (node.type_of(input).dtype != DType::u8)
    return numbers_of(constant_of_size(node, input, rows * count, what));
  const std::size_t row = packed_bytes(count, bits);
  const std::string zeros =
      unpacked_rows(constant_of_size(node, input, rows * row, what).bytes, row, count, bits);
  std::vector<double> numbers;
  for (const char each : zeros) numbers.push_back(static_cast<unsigned char>(each));
  return numbers;
}

TensorExpr weight(NodeContext& node, Tensor tensor, std::size_t named_after) {
  return constant_expr(node, std::move(tensor), node.node().input(static_cast<int>(named_after)));
}

/// The block of each of k elements of a row: as the groups say where there are any.
std::vector<std::size_t> block_places(NodeContext& node, std::int64_t k, std::int64_t block,
                                      std::size_t groups) {
  std::vector<std::size_t> which;
  for (std::int64_t i = 0; i < k; ++i) which.push_back(places(i / block));
  if (!node.has(groups)) return which;
  const std::vector<std::int64_t> given = node.need_integers(groups, "its group indices");
  if (given.size() < which.size())
    node.fail(fmt::format("it has {} group indices, and needs {}", given.size(), k));
  const std::int64_t blocks = (k + block - 1) / block;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (given[i] < 0 || given[i] >= blocks)
      node.fail(fmt::format("group index {} is outside of {} blocks", given[i], blocks));
    which[i] = places(given[i]);
  }
  return which;
}

/// The scales as they lie in memory: in 16 bits where these hold all of them.
TensorExpr kept_scales(NodeContext& node, const std::vector<double>& scales, const Integers& dims) {
  std::vector<float> wide;
  std::vector<std::uint16_t> halves;
  bool are_halves = true;
  for (const double scale : scales) {
    wide.push_back(static_cast<float>(scale));
    halves.push_back(graph::code_of_float(DType::f16, scale));
    are_halves = are_halves && graph::float_of_code(DType::f16, halves.back()) == scale;
  }
  return are_halves ? constant_expr(node, DType::f16, dims, halves) : floats(node, dims, wide);
}

/// Codes as unpack_blocks takes them. Those of 2 bits become such of 4, whose middle is theirs.
struct Codes {
  explicit Codes(std::int64_t held)
      : bits(held == 8 ? 8 : 4), added(held == 2 ? (1 << 3) - (1 << 1) : 0) {}

  std::int64_t bits;
  int added;  ///< to each code and zero point

  /// Integers of the held bits, one in a byte, as bytes of codes.
  std::string packed(const std::string& integers) const {
    if (bits == 8) return integers;
    std::string bytes;
    for (std::size_t i = 0; i + 1 < integers.size(); i += 2)
      bytes.push_back(static_cast<char>((integers[i] + added) | (integers[i + 1] + added) << 4));
    return bytes;
  }
  /// Zero points as bytes, where they are whole numbers of the held bits.
  std::optional<std::vector<std::uint8_t>> whole(const std::vector<double>& zeros) const {
    const int greatest = (1 << bits) - 1 - 2 * added;
    std::vector<std::uint8_t> bytes;
    for (const double zero : zeros) {
      if (!(zero >= 0 && zero <= greatest) || zero != std::trunc(zero)) return std::nullopt;
      bytes.push_back(static_cast<std::uint8_t>(static_cast<int>(zero) + added));
    }
    return bytes;
  }
};

/// Scales and zero points of blocks, for unpack_blocks; without zeros it takes the usual ones.
struct BlockNumbers {
  TensorExpr scales;
  std::optional<TensorExpr> zeros;
};
std::optional<BlockNumbers> block_numbers(NodeContext& node, const Codes& codes,
                                          const std::vector<double>& scales,
                                          const std::vector<double>& zeros, bool has_zeros,
                                          const Integers& dims) {
  BlockNumbers numbers{kept_scales(node, scales, dims), std::nullopt};
  if (!has_zeros) return numbers;
  const std::optional<std::vector<std::uint8_t>> whole = codes.whole(zeros);
  if (!whole) return std::nullopt;
  numbers.zeros = constant_expr(node, DType::u8, dims, *whole);
  return numbers;
}

TensorExpr unpack_blocks(const TensorExpr& codes, const BlockNumbers& numbers, Dim size, Dim bits) {
  std::vector<TensorExpr> inputs{codes, numbers.scales};
  if (numbers.zeros) inputs.push_back(*numbers.zeros);
  return apply("unpack_blocks", inputs, {{"size", size}, {"bits", bits}});
}

/// The elements of a row in the order of their blocks; none where these are not full, but for the
/// last one.
std::vector<std::int64_t> order_by_block(const std::vector<std::size_t>& which,
                                         std::int64_t block) {
  std::vector<std::int64_t> order(which.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int64_t i) { return std::pair(which[places(i)], i); });
  for (std::size_t i = 0; i < order.size(); ++i)
    if (which[places(order[i])] != i / places(block)) return {};
  return order;
}

/// Rows of `width` integers, the first of which are taken in this order.
std::string in_order(const std::string& rows, std::size_t width,
                     const std::vector<std::int64_t>& order) {
  std::string taken = rows;
  for (std::size_t first = 0; first < rows.size(); first += width)
    for (std::size_t i = 0; i < order.size(); ++i)
      taken[first + i] = rows[first + places(order[i])];
  return taken;
}

/// Y = A * B^T + bias, where B is [N, K], each row in blocks of K.
void convert_matmul_n_bits(NodeContext& node) {
  constexpr std::size_t b = 1, scales_input = 2, zeros_input = 3, groups = 4, bias = 5;
  const std::int64_t n = positive(node, "N"), k = positive(node, "K");
  const Packing packing = packing_of(node, 0);
  if (node.integer("weight_prepacked", 0) != 0)
    node.fail_unsupported("weights in the order of one GPU are not supported");
  const std::size_t blocks = places((k + packing.block - 1) / packing.block),
                    row = blocks * places(packing.block * packing.bits / 8);
  const Tensor& packed = constant_of_size(node, b, places(n) * row, "its packed weights");
  const std::vector<double> scales = numbers_of(constant_of_size(node, scales_input,
                                                                 places(n) * blocks, "its scales")),
                            zeros = zero_points(node, zeros_input, places(n), blocks, packing.bits);
  const Integers of_blocks{n, static_cast<std::int64_t>(blocks)};
  const auto finish = [&](const TensorExpr& a, const TensorExpr& factor) {
    TensorExpr y = numpy_matmul(a, factor, false, true);
    if (node.has(bias)) y = y + input_expr(node, bias);
    node.give(y.id());
  };
  const TensorExpr a = input_expr(node, 0);
  const std::vector<std::size_t> which = block_places(node, k, packing.block, groups);
  const std::vector<std::int64_t> order = order_by_block(which, packing.block);
  const Codes codes(packing.bits);
  const auto numbers =
      order.empty() ? std::nullopt
                    : block_numbers(node, codes, scales, zeros, node.has(zeros_input), of_blocks);
  if (!numbers) {
    const Tensor integers{
        DType::u8, {n, k}, unpacked_rows(packed.bytes, row, places(k), packing.bits)};
    return finish(a, weight(node,
                            dequantized(integers, scales, zeros,
                                        [&](std::size_t i) {
                                          return i / places(k) * blocks + which[i % places(k)];
                                        }),
                            b));
  }
  const Integers of_codes{n, of_blocks[1], packing.block * codes.bits / 8};
  const bool is_in_order = std::ranges::is_sorted(order);
  const auto recoded = [&] {
    if (is_in_order && codes.added == 0) return packed.bytes;
    const std::size_t width = blocks * places(packing.block);
    return codes.packed(
        in_order(unpacked_rows(packed.bytes, row, width, packing.bits), width, order));
  };
  const TensorExpr held = is_in_order && codes.added == 0 && packed.dims == of_codes
                              ? input_expr(node, b)
                              : weight(node, {DType::u8, of_codes, recoded()}, b);
  const TensorExpr factor =
      unpack_blocks(held, *numbers, node.dims().constant(k), node.dims().constant(codes.bits));
  finish(is_in_order ? a : gather(a, constant_expr(node, DType::i64, {k}, order), -1), factor);
}

/// Rows of a table in blocks along one axis. Its last axis is packed.
void convert_gather_block_quantized(NodeContext& node) {
  constexpr std::size_t data = 0, indices = 1, scales_input = 2, zeros_input = 3;
  constexpr std::int64_t usual_block = 128;
  const Packing packing = packing_of(node, usual_block);
  const Tensor& packed = node.need_constant(data, "its packed table");
  if (packed.dtype != DType::u8)
    node.fail_unsupported(
        fmt::format("a table of {} is not supported; it must be u8", name_of(packed.dtype)));
  const int rank = static_cast<int>(packed.dims.size());
  const int axis = node.axis(node.integer("quantize_axis", 1), rank),
            gathered = node.axis(node.integer("gather_axis", 0), rank);
  const std::size_t row = places(packed.dims.back()), width = row * 8 / places(packing.bits);
  Integers dims = packed.dims;
  dims.back() = static_cast<std::int64_t>(width);
  const std::int64_t extent = dims[places(axis)],
                     blocks = (extent + packing.block - 1) / packing.block;
  Integers of_scales = dims;
  of_scales[places(axis)] = blocks;
  const auto elements = [](const Integers& sizes, std::size_t from, std::size_t to) {
    std::size_t count = 1;
    for (std::size_t i = from; i < to; ++i) count *= places(sizes[i]);
    return count;
  };
  const std::size_t last = dims.size() - 1, inner = elements(dims, places(axis) + 1, dims.size());
  const std::vector<double> scales = numbers_of(constant_of_size(
                                node, scales_input, elements(of_scales, 0, dims.size()),
                                "its scales")),
                            zeros = zero_points(node, zeros_input, elements(of_scales, 0, last),
                                                places(of_scales.back()), packing.bits);
  const bool in_rows =
      axis == rank - 1 && gathered != axis && width == places(blocks * packing.block);
  const Codes codes(packing.bits);
  if (auto numbers =
          in_rows ? block_numbers(node, codes, scales, zeros, node.has(zeros_input), of_scales)
                  : std::nullopt) {
    const TensorExpr ids = input_expr(node, indices);
    numbers->scales = gather(numbers->scales, ids, gathered);
    if (numbers->zeros) numbers->zeros = gather(*numbers->zeros, ids, gathered);
    Dims of_codes = numbers->scales.dims();
    of_codes.push_back(node.dims().constant(packing.block * codes.bits / 8));
    Integers table = packed.dims;
    table.back() = static_cast<std::int64_t>(width) * codes.bits / 8;
    const TensorExpr rows =
        codes.added == 0
            ? input_expr(node, data)
            : weight(node,
                     {DType::u8, table,
                      codes.packed(unpacked_rows(packed.bytes, row, width, packing.bits))},
                     data);
    node.give(unpack_blocks(reshape(gather(rows, ids, gathered), of_codes), *numbers,
                            node.dims().constant(static_cast<std::int64_t>(width)),
                            node.dims().constant(codes.bits))
                  .id());
    return;
  }
  const Tensor integers{DType::u8, dims, unpacked_rows(packed.bytes, row, width, packing.bits)};
  const TensorExpr table =
      weight(node,
             dequantized(integers, scales, zeros,
                         [&](std::size_t i) {
                           const std::size_t place = i / inner % places(extent),
                                             outer = i / inner / places(extent);
                           return (outer * places(blocks) + place / places(packing.block)) * inner +
                                  i % inner;
                         }),
             data);
  node.give(gather(table, input_expr(node, indices), gathered).id());
}

}  // namespace

Family packed_weight_operators() {
  return {{"MatMulNBits", convert_matmul_n_bits, Halves::InF32},
          {"GatherBlockQuantized", convert_gather_block_quantized, Halves::InF32, 2}};
}

}  // namespace dyn::onnx
