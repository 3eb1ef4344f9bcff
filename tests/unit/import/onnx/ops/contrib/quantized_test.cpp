// Quantised operators of ONNX Runtime's own domain, and those on places, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::contrib_quantized {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::size_t places(std::int64_t count) { return static_cast<std::size_t>(count); }

/// What is left of x as 256 numbers from its least to its greatest, with 0 among them.
std::vector<float> in_bytes(const std::vector<float>& x) {
  const auto [least, greatest] = std::ranges::minmax(x);
  const float low = std::min(least, 0.0F), scale = (std::max(greatest, 0.0F) - low) / 255,
              zero = std::nearbyint(-low / scale);
  std::vector<float> result;
  for (const float each : x)
    result.push_back((std::clamp(std::nearbyint(each / scale) + zero, 0.0F, 255.0F) - zero) *
                     scale);
  return result;
}

double rounded(double x, double zero, double low, double high) {
  return std::clamp(std::nearbyint(x) + zero, low, high);
}

/// Whole results, of which a rounding may move one in a hundred by one.
void check_steps(const Values& actual, const Values& expected) {
  REQUIRE(actual.size() == expected.size());
  std::size_t moved = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK(std::abs(actual[i] - expected[i]) <= 1);
    if (actual[i] != expected[i]) ++moved;
  }
  CHECK(moved <= 1 + actual.size() / 100);
}

TEST_CASE("weights of 2, 4 and 8 bits in blocks, the last of which may be short") {
  constexpr std::int64_t rows = 3, n = 5, k = 37, block = 16, blocks = 3;
  for (const std::int64_t bits : {2, 4, 8}) {
    for (int form = 0; form < 6; ++form) {
      CAPTURE(bits);
      CAPTURE(form);
      const bool packed_zeros = form == 1 || form == 4, float_zeros = form == 2,
                 full_groups = form >= 4, groups = form == 3 || full_groups;
      const std::int64_t blob = block * bits / 8, zero_row = (blocks * bits + 7) / 8;
      const Bytes weights = random_integers<std::uint8_t>(places(n * blocks * blob)),
                  zeros = random_integers<std::uint8_t>(places(n * zero_row));
      const std::vector<float> scales = random_floats(places(n * blocks), 0.01F, 0.2F),
                               real_zeros = random_floats(places(n * blocks), 0, 3),
                               bias = random_floats(n);
      std::vector<std::int32_t> which;
      for (std::int64_t i = 0; i < k; ++i)
        which.push_back(
            static_cast<std::int32_t>(full_groups ? i * 7 % k / block : i * 7 % blocks));
      OnnxFile file;
      file.input("a", {"B", "M", 37}).output("y").floats("s", {n, blocks}, scales);
      file.floats("bias", {n}, bias).floats("rz", {n, blocks}, real_zeros);
      add_constant(file, "b", {n, blocks, blob}, weights);
      add_constant(file, "z", {n, zero_row}, zeros);
      add_constant(file, "g", {k}, which);
      onnx::NodeProto& node = contrib(file, "MatMulNBits",
                                      {"a", "b", "s",
                                       packed_zeros  ? "z"
                                       : float_zeros ? "rz"
                                                     : "",
                                       groups ? "g" : "", "bias"},
                                      {"y"});
      set(set(set(set(node, "N", n), "K", k), "bits", bits), "block_size", block);
      std::vector<float> a = random_floats(2 * rows * k);
      const auto field = [bits](const Bytes& bytes, std::int64_t first, std::int64_t i) {
        const std::int64_t bit = i * bits;
        return (bytes[places(first + bit / 8)] >> (bit % 8)) & ((1 << bits) - 1);
      };
      Values expected;
      for (std::int64_t i = 0; i < 2 * rows * n; ++i) {
        const std::int64_t column = i % n;
        double sum = at(bias, column);
        for (std::int64_t t = 0; t < k; ++t) {
          const std::int64_t of = groups ? which[places(t)] : t / block;
          const double zero = packed_zeros  ? field(zeros, column * zero_row, of)
                              : float_zeros ? at(real_zeros, column * blocks + of)
                                            : static_cast<double>(1 << (bits - 1));
          sum += at(a, i / n * k + t) * (field(weights, column * blocks * blob, t) - zero) *
                 at(scales, column * blocks + of);
        }
        expected.push_back(sum);
      }
      check_close(run(file, {{"a", {&a, {2, rows, k}}}}).values, expected, 1e-4);
    }
  }
}

TEST_CASE("weights in blocks must be constants of the right size") {
  const auto file_with = [](std::int64_t bits, std::int64_t block, std::int64_t bytes) {
    OnnxFile file;
    file.input("a", {"M", 32}).output("y").floats("s", {2, 2}, {1, 1, 1, 1});
    add_constant(file, "b", {2, 2, bytes}, Bytes(places(4 * bytes)));
    onnx::NodeProto& node = contrib(file, "MatMulNBits", {"a", "b", "s"}, {"y"});
    set(set(set(set(node, "N", 2), "K", 32), "bits", bits), "block_size", block);
    return file;
  };
  check_error(file_with(3, 16, 8), ErrorKind::unsupported, {"weights of 3 bits"});
  check_error(file_with(4, 24, 8), ErrorKind::model, {"block_size is 24", "power of two"});
  check_error(file_with(4, 16, 7), ErrorKind::model, {"28 elements, not 32"});
  OnnxFile open = file_with(4, 16, 8);
  open.model.mutable_graph()->mutable_initializer(1)->set_name("other");
  open.input("b", {2, 2, 8}, onnx::TensorProto::UINT8);
  check_error(open, ErrorKind::unsupported, {"its packed weights"});
  OnnxFile none = file_with(4, 16, 8);
  none.model.mutable_graph()->mutable_node(0)->clear_attribute();
  check_error(none, ErrorKind::model, {"N is 0; it must be at least 1"});
}

TEST_CASE("rows of a table of few bits, in blocks along any axis") {
  constexpr std::int64_t rows = 5, middle = 18, width = 8, block = 16;
  for (const std::int64_t bits : {2, 4, 8}) {
    for (const std::int64_t axis : {1, 2}) {
      for (const bool has_zeros : {false, true}) {
        CAPTURE(bits);
        CAPTURE(axis);
        CAPTURE(has_zeros);
        const std::int64_t packed = width * bits / 8;
        const Shape scales_shape = axis == 1 ? Shape{rows, 2, width} : Shape{rows, middle, 1};
        const std::int64_t scales_count = scales_shape[0] * scales_shape[1] * scales_shape[2],
                           zero_row = (scales_shape[2] * bits + 7) / 8;
        const Bytes table = random_integers<std::uint8_t>(places(rows * middle * packed)),
                    zeros = random_integers<std::uint8_t>(
                        places(scales_shape[0] * scales_shape[1] * zero_row));
        const std::vector<float> scales = random_floats(places(scales_count), 0.01F, 0.2F);
        OnnxFile file;
        file.input("i", {"N"}, onnx::TensorProto::INT64).output("y");
        file.floats("s", scales_shape, scales);
        add_constant(file, "t", {rows, middle, packed}, table);
        add_constant(file, "z", {scales_shape[0], scales_shape[1], zero_row}, zeros);
        onnx::NodeProto& node =
            contrib(file, "GatherBlockQuantized", {"t", "i", "s", has_zeros ? "z" : ""}, {"y"});
        set(set(set(node, "bits", bits), "block_size", block), "quantize_axis", axis);
        const auto field = [bits](const Bytes& bytes, std::int64_t row, std::int64_t row_bytes,
                                  std::int64_t i) {
          return (bytes[places(row * row_bytes + i * bits / 8)] >> (i * bits % 8)) &
                 ((1 << bits) - 1);
        };
        std::vector<std::int64_t> ids{4, 0, 2, 4};
        Values expected;
        for (std::int64_t i = 0; i < 4 * middle * width; ++i) {
          const std::int64_t row = ids[places(i / (middle * width))], m = i / width % middle,
                             w = i % width;
          const std::int64_t scale_row = axis == 1 ? row * 2 + m / block : row * middle + m,
                             column = axis == 1 ? w : 0;
          const double zero =
              has_zeros ? field(zeros, scale_row, zero_row, column) : 1 << (bits - 1);
          expected.push_back((field(table, row * middle + m, packed, w) - zero) *
                             at(scales, scale_row * scales_shape[2] + column));
        }
        check_close(run_all(file, {{"i", Tensor::view(ids.data(), {4})}}).front().values, expected);
      }
    }
  }
}

TEST_CASE("a product of floats, quantised when it runs, and 8-bit weights") {
  constexpr std::int64_t m = 6, k = 33, n = 7;
  OnnxFile file;
  file.input("a", {"M", "K"}).output("y");
  const std::vector<std::int8_t> b = random_integers<std::int8_t>(k * n),
                                 zero = random_integers<std::int8_t>(n);
  const std::vector<float> scale = random_floats(n, 0.01F, 0.1F), bias = random_floats(n);
  add_constant(file, "b", {k, n}, b);
  add_constant(file, "z", {n}, zero);
  file.floats("s", {n}, scale).floats("bias", {n}, bias);
  contrib(file, "DynamicQuantizeMatMul", {"a", "b", "s", "z", "bias"}, {"y"});
  std::vector<float> a = random_floats(m * k);
  const float low = std::min(*std::ranges::min_element(a), 0.0F),
              high = std::max(*std::ranges::max_element(a), 0.0F), step = (high - low) / 255;
  const double a_zero = rounded(-static_cast<double>(low / step), 0, 0, 255);
  Values expected;
  for (std::int64_t i = 0; i < m * n; ++i) {
    double sum = 0;
    for (std::int64_t t = 0; t < k; ++t)
      sum +=
          (rounded(static_cast<double>(a[places(i / n * k + t)] / step), a_zero, 0, 255) - a_zero) *
          (b[places(t * n + i % n)] - zero[places(i % n)]);
    expected.push_back(sum * static_cast<double>(step) * at(scale, i % n) + at(bias, i % n));
  }
  check_close(run(file, {{"a", {&a, {m, k}}}}).values, expected, 1e-5);
}

TEST_CASE("QGemm turns its factors, and gives floats or integers") {
  constexpr std::int64_t m = 4, k = 9, n = 5;
  for (int form = 0; form < 8; ++form) {
    CAPTURE(form);
    const bool turns_a = (form & 1) != 0, turns_b = (form & 2) != 0, whole = (form & 4) != 0;
    OnnxFile file;
    file.input("a", {"", ""}, onnx::TensorProto::UINT8).output("y");
    Bytes a = random_integers<std::uint8_t>(m * k);
    const std::vector<std::int8_t> b = random_integers<std::int8_t>(k * n);
    std::vector<std::int32_t> c;
    for (std::int64_t i = 0; i < n; ++i) c.push_back(static_cast<std::int32_t>(i * 700 - 900));
    add_constant(file, "b", turns_b ? Shape{n, k} : Shape{k, n}, b);
    add_constant(file, "c", {n}, c);
    add_constant(file, "az", {}, Bytes{120});
    add_constant(file, "bz", {}, std::vector<std::int8_t>{-3});
    add_constant(file, "yz", {}, Bytes{100});
    file.floats("as", {}, {0.02F}).floats("bs", {}, {0.03F}).floats("ys", {}, {0.4F});
    onnx::NodeProto& node =
        whole ? contrib(file, "QGemm", {"a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"}, {"y"})
              : contrib(file, "QGemm", {"a", "as", "az", "b", "bs", "bz", "c"}, {"y"});
    set_number(set(set(node, "transA", turns_a), "transB", turns_b), "alpha", 0.5F);
    Values expected;
    for (std::int64_t i = 0; i < m * n; ++i) {
      const std::int64_t row = i / n, column = i % n;
      double sum = c[places(column)];
      for (std::int64_t t = 0; t < k; ++t)
        sum += (a[places(turns_a ? t * m + row : row * k + t)] - 120.0) *
               (b[places(turns_b ? column * k + t : t * n + column)] + 3.0);
      const double y = sum * 0.5 * 0.02 * 0.03;
      expected.push_back(whole ? rounded(y / 0.4, 100, 0, 255) : y);
    }
    const Values actual =
        run_all(file, {{"a", Tensor::view(a.data(), turns_a ? Shape{k, m} : Shape{m, k})}})
            .front()
            .values;
    if (whole)
      check_steps(actual, expected);
    else
      check_close(actual, expected, 1e-5);
  }
}

/// One operand of 8 bits, and what its integers stand for.
struct Operand {
  Bytes integers;
  double scale, zero;
  double number(std::int64_t i) const { return (integers[places(i)] - zero) * scale; }
};

Operand operand(std::int64_t count, double scale, double zero) {
  return {random_integers<std::uint8_t>(places(count)), scale, zero};
}

TEST_CASE("operators on 8-bit integers compute with what these stand for") {
  constexpr std::int64_t rows = 4, columns = 6, count = rows * columns;
  Operand a = operand(count, 0.03, 110), b = operand(columns, 0.05, 140);
  std::vector<std::uint8_t> mask;
  for (std::int64_t i = 0; i < count; ++i) mask.push_back(i % 3 == 0 ? 1 : 0);
  const auto check = [&](const char* op, const std::vector<const char*>& inputs,
                         const std::function<double(std::int64_t)>& number, std::int64_t results,
                         const std::function<void(onnx::NodeProto&)>& edit = {}) {
    CAPTURE(op);
    OnnxFile file;
    file.input("a", {"N", 6}, onnx::TensorProto::UINT8)
        .input("b", {6}, onnx::TensorProto::UINT8)
        .input("m", {"N", 6}, onnx::TensorProto::BOOL)
        .output("y");
    file.floats("as", {}, {0.03F}).floats("bs", {}, {0.05F}).floats("ys", {}, {0.0413F});
    add_constant(file, "az", {}, Bytes{110});
    add_constant(file, "bz", {}, Bytes{140});
    add_constant(file, "yz", {}, Bytes{90});
    onnx::NodeProto& node = contrib(file, op, {}, {"y"});
    for (const char* input : inputs) node.add_input(input);
    if (edit) edit(node);
    Values expected;
    for (std::int64_t i = 0; i < results; ++i)
      expected.push_back(rounded(number(i) / 0.0413, 90, 0, 255));
    check_steps(
        run_all(file, {{"a", Tensor::view(a.integers.data(), {rows, columns})},
                       {"b", Tensor::view(b.integers.data(), {columns})},
                       {"m", Tensor::view(reinterpret_cast<bool*>(mask.data()), {rows, columns})}})
            .front()
            .values,
        expected);
  };
  const std::vector<const char*> pair{"a", "as", "az", "b", "bs", "bz", "ys", "yz"},
      single{"a", "as", "az", "ys", "yz"};
  const auto other = [&](std::int64_t i) { return b.number(i % columns); };
  check("QLinearAdd", pair, [&](auto i) { return a.number(i) + other(i); }, count);
  check("QLinearMul", pair, [&](auto i) { return a.number(i) * other(i); }, count);
  check("QLinearSigmoid", single, [&](auto i) { return sigmoid(a.number(i)); }, count);
  check(
      "QLinearLeakyRelu", single,
      [&](auto i) { return a.number(i) >= 0 ? a.number(i) : 0.2 * a.number(i); }, count,
      [](onnx::NodeProto& node) { set_number(node, "alpha", 0.2F); });
  check(
      "QLinearWhere", {"m", "a", "as", "az", "b", "bs", "bz", "ys", "yz"},
      [&](auto i) { return mask[places(i)] != 0 ? a.number(i) : other(i); }, count);
  check(
      "QLinearReduceMean", single,
      [&](auto i) {
        double sum = 0;
        for (std::int64_t j = 0; j < columns; ++j) sum += a.number(i * columns + j);
        return sum / columns;
      },
      rows, [](onnx::NodeProto& node) { set(set_list(node, "axes", {-1}), "keepdims", 0); });
  check(
      "QLinearConcat", {"ys", "yz", "b", "bs", "bz", "b", "as", "az"},
      [&](auto i) {
        return i < columns ? b.number(i) : (b.integers[places(i - columns)] - 110) * 0.03;
      },
      2 * columns, [](onnx::NodeProto& node) { set(node, "axis", 0); });
}

TEST_CASE("QLinearConcat needs three inputs for each part") {
  OnnxFile file;
  file.input("a", {"N"}, onnx::TensorProto::UINT8).output("y").floats("s", {}, {1});
  add_constant(file, "z", {}, Bytes{1});
  set(contrib(file, "QLinearConcat", {"s", "z", "a", "s"}, {"y"}), "axis", 0);
  check_error(file, ErrorKind::model, {"it has 4 inputs; it needs two, and three for each part"});
}

TEST_CASE("pools of 8-bit integers, channels first or last") {
  constexpr std::int64_t batch = 2, channels = 3, height = 4, width = 5;
  for (const bool last : {false, true}) {
    for (const bool all : {false, true}) {
      CAPTURE(last);
      CAPTURE(all);
      Operand x = operand(batch * channels * height * width, 0.03, 110);
      OnnxFile file;
      if (last)
        file.input("x", {"N", "H", "W", 3}, onnx::TensorProto::UINT8);
      else
        file.input("x", {"N", 3, "H", "W"}, onnx::TensorProto::UINT8);
      file.output("y").floats("xs", {}, {0.03F}).floats("ys", {}, {0.0231F});
      add_constant(file, "xz", {}, Bytes{110});
      add_constant(file, "yz", {}, Bytes{70});
      onnx::NodeProto& node = contrib(file, all ? "QLinearGlobalAveragePool" : "QLinearAveragePool",
                                      {"x", "xs", "xz", "ys", "yz"}, {"y"});
      set(node, "channels_last", last);
      if (!all) set_list(node, "kernel_shape", {2, 3});
      const std::int64_t tall = all ? height : 2, wide = all ? width : 3, down = height - tall + 1,
                         right = width - wide + 1;
      Values expected(places(batch * channels * down * right));
      for (std::int64_t i = 0; i < batch * channels * down * right; ++i) {
        const std::int64_t n = i / (channels * down * right), c = i / (down * right) % channels,
                           row = i / right % down, column = i % right;
        double sum = 0;
        for (std::int64_t t = 0; t < tall * wide; ++t) {
          const std::int64_t h = row + t / wide, w = column + t % wide;
          sum += x.number(last ? ((n * height + h) * width + w) * channels + c
                               : ((n * channels + c) * height + h) * width + w);
        }
        expected[places(last ? ((n * down + row) * right + column) * channels + c : i)] =
            rounded(sum / static_cast<double>(tall * wide) / 0.0231, 70, 0, 255);
      }
      check_steps(run_all(file, {{"x", Tensor::view(x.integers.data(),
                                                    last ? Shape{batch, height, width, channels}
                                                         : Shape{batch, channels, height, width})}})
                      .front()
                      .values,
                  expected);
    }
  }
}

TEST_CASE("an LSTM by 8-bit weights is one by the floats that they and its inputs stand for") {
  constexpr std::int64_t ways = 2, steps = 4, batch = 2, inputs = 3, hidden = 5,
                         columns = 4 * hidden;
  for (const bool by_column : {false, true}) {
    CAPTURE(by_column);
    const std::int64_t parts = by_column ? ways * columns : ways;
    const std::vector<std::int8_t> w = random_integers<std::int8_t>(ways * inputs * columns),
                                   r = random_integers<std::int8_t>(ways * hidden * columns),
                                   w_zero = random_integers<std::int8_t>(places(parts)),
                                   r_zero = random_integers<std::int8_t>(places(parts));
    const std::vector<float> w_scale = random_floats(places(parts), 0.001F, 0.01F),
                             r_scale = random_floats(places(parts), 0.001F, 0.01F),
                             bias = random_floats(ways * 2 * columns);
    // The standard operator has the gates before the elements that they are computed from.
    const auto floats_of = [&](const std::vector<std::int8_t>& q, const std::vector<float>& scale,
                               const std::vector<std::int8_t>& zero, std::int64_t rows) {
      std::vector<float> result(q.size());
      for (std::int64_t i = 0; i < ways * rows * columns; ++i) {
        const std::int64_t way = i / (rows * columns), row = i / columns % rows,
                           column = i % columns;
        const std::size_t of = places(by_column ? way * columns + column : way);
        result[places((way * columns + column) * rows + row)] =
            static_cast<float>(q[places(i)] - zero[of]) * scale[of];
      }
      return result;
    };
    OnnxFile file, standard;
    for (OnnxFile* each : {&file, &standard}) {
      each->input("x", {"S", "B", 3}).output("y").output("h").output("c");
      each->floats("b", {ways, 2 * columns}, bias);
    }
    add_constant(file, "w", {ways, inputs, columns}, w);
    add_constant(file, "r", {ways, hidden, columns}, r);
    const Shape shape = by_column ? Shape{ways, columns} : Shape{ways};
    add_constant(file, "wz", shape, w_zero);
    add_constant(file, "rz", shape, r_zero);
    file.floats("ws", shape, w_scale).floats("rs", shape, r_scale);
    standard.floats("w", {ways, columns, inputs}, floats_of(w, w_scale, w_zero, inputs));
    standard.floats("r", {ways, columns, hidden}, floats_of(r, r_scale, r_zero, hidden));
    for (onnx::NodeProto* node :
         {&contrib(file, "DynamicQuantizeLSTM",
                   {"x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y", "h", "c"}),
          &standard.node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"})})
      set_word(set(*node, "hidden_size", hidden), "direction", "bidirectional");
    const std::vector<float> x = random_floats(steps * batch * inputs), rounded = in_bytes(x);
    const std::vector<Result> actual = run_all(
                                  file, {{"x", Tensor::view(x.data(), {steps, batch, inputs})}}),
                              expected = run_all(
                                  standard,
                                  {{"x", Tensor::view(rounded.data(), {steps, batch, inputs})}});
    for (std::size_t i = 0; i < actual.size(); ++i) {
      CHECK(actual[i].shape == expected[i].shape);
      check_close(actual[i].values, expected[i].values, 1e-5);
    }
    file.model.mutable_graph()->mutable_node(0)->set_input(9, "rs");
    if (by_column) continue;
    OnnxFile wrong = file;
    wrong.floats("three", {3}, {1, 2, 3});
    wrong.model.mutable_graph()->mutable_node(0)->set_input(8, "three");
    check_error(wrong, ErrorKind::model, {"it has 3 scales and 2 zero points, and needs 2 or 40"});
  }
}

// The state given is one of codes, so that quantising it changes nothing.
TEST_CASE("an LSTM by 8-bit weights quantises the state of each row") {
  constexpr std::int64_t batch = 3, inputs = 3, hidden = 5, columns = 4 * hidden;
  constexpr float step = 0x1p-7F;
  std::vector<float> h;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t row_step = b + 1;  // each row has a range of its own
    for (const std::int64_t code : {-100, 155, 0, 17, -3})
      h.push_back(static_cast<float>(code * row_step) * step);
  }
  const std::vector<std::int8_t> w = random_integers<std::int8_t>(inputs * columns),
                                 r = random_integers<std::int8_t>(hidden * columns);
  std::vector<std::uint8_t> raised;  // the same weights as u8
  for (const std::int8_t weight : r) raised.push_back(static_cast<std::uint8_t>(weight + 128));
  const std::vector<float> x = random_floats(batch * inputs), bias = random_floats(2 * columns);
  const auto turned = [&](const std::vector<std::int8_t>& q, std::int64_t rows, float scale) {
    std::vector<float> result(q.size());
    for (std::int64_t i = 0; i < rows * columns; ++i)
      result[places(i % columns * rows + i / columns)] = static_cast<float>(q[places(i)]) * scale;
    return result;
  };
  const auto inputs_of = [&](OnnxFile& file) {
    file.input("x", {"S", "B", inputs}).input("h", {1, "B", hidden}).output("y");
    file.floats("b", {1, 2 * columns}, bias);
  };
  OnnxFile standard;
  inputs_of(standard);
  standard.floats("w", {1, columns, inputs}, turned(w, inputs, 0.004F));
  standard.floats("r", {1, columns, hidden}, turned(r, hidden, 0.002F));
  set(standard.node("LSTM", {"x", "w", "r", "b", "", "h"}, {"y"}), "hidden_size", hidden);
  const std::vector<float> rounded = in_bytes(x);
  const Values expected =
      run_all(standard, {{"x", Tensor::view(rounded.data(), {1, batch, inputs})},
                         {"h", Tensor::view(h.data(), {1, batch, hidden})}})[0]
          .values;
  for (const bool is_raised : {false, true}) {
    CAPTURE(is_raised);
    OnnxFile file;
    inputs_of(file);
    add_constant(file, "w", {1, inputs, columns}, w);
    add_constant(file, "wz", {1}, std::vector<std::int8_t>{0});
    if (is_raised)
      add_constant(file, "r", {1, hidden, columns}, raised);
    else
      add_constant(file, "r", {1, hidden, columns}, r);
    if (is_raised)
      add_constant(file, "rz", {1}, std::vector<std::uint8_t>{128});
    else
      add_constant(file, "rz", {1}, std::vector<std::int8_t>{0});
    file.floats("ws", {1}, {0.004F}).floats("rs", {1}, {0.002F});
    set(contrib(file, "DynamicQuantizeLSTM",
                {"x", "w", "r", "b", "", "h", "", "", "ws", "wz", "rs", "rz"}, {"y"}),
        "hidden_size", hidden);
    const Graph graph = load(file);
    check_close(run_all(graph, {{"x", Tensor::view(x.data(), {1, batch, inputs})},
                                {"h", Tensor::view(h.data(), {1, batch, hidden})}})[0]
                    .values,
                expected, 1e-5);
    std::vector<float> between = h;
    between[3] += step / 4;  // no code: it is rounded to the one that was there
    CHECK(run_all(graph, {{"x", Tensor::view(x.data(), {1, batch, inputs})},
                          {"h", Tensor::view(between.data(), {1, batch, hidden})}})[0]
              .values == run_all(graph, {{"x", Tensor::view(x.data(), {1, batch, inputs})},
                                         {"h", Tensor::view(h.data(), {1, batch, hidden})}})[0]
                             .values);
  }
}

TEST_CASE("an LSTM by 8-bit weights does not see the steps behind its longest sample") {
  OnnxFile file;
  file.input("x", {"S", "B", 3}).input("lengths", {"B"}, onnx::TensorProto::INT32).output("y");
  add_constant(file, "w", {1, 3, 8}, random_integers<std::int8_t>(24));
  add_constant(file, "r", {1, 2, 8}, random_integers<std::int8_t>(16));
  add_constant(file, "zero", {1}, std::vector<std::int8_t>{3});
  file.floats("scale", {1}, {0.01F});
  set(contrib(file, "DynamicQuantizeLSTM",
              {"x", "w", "r", "", "lengths", "", "", "", "scale", "zero", "scale", "zero"}, {"y"}),
      "hidden_size", 2);
  const Graph graph = load(file);
  std::vector<float> x = random_floats(5 * 2 * 3);
  const std::vector<std::int32_t> lengths{2, 3};
  const auto values = [&] {
    return run_all(graph,
                   {{"x", Tensor::view(x, {5, 2, 3})}, {"lengths", Tensor::view(lengths, {2})}})[0]
        .values;
  };
  const Values before = values();
  std::fill(x.begin() + 3 * 2 * 3, x.end(), 1e4F);
  CHECK(values() == before);
  x[2 * 2 * 3] = 1e4F;  // of the third step, which the second sample has
  CHECK(values() != before);
}

TEST_CASE("words that would repeat a sequence are forbidden") {
  OnnxFile file;
  file.input("ids", {"B", "S"}, onnx::TensorProto::INT64).input("scores", {"B", "V"}).output("y");
  set(contrib(file, "NGramRepeatBlock", {"ids", "scores"}, {"y"}), "ngram_size", 3);
  const Graph graph = load(file);
  constexpr double none = -std::numeric_limits<double>::infinity();
  std::vector<float> scores = random_floats(10);
  const auto check = [&](std::vector<std::int64_t> ids, const std::vector<std::size_t>& forbidden) {
    const auto length = static_cast<std::int64_t>(ids.size()) / 2;
    Values expected(scores.begin(), scores.end());
    for (const std::size_t each : forbidden) expected[each] = none;
    const Values actual = run_all(graph, {{"ids", Tensor::view(ids.data(), {2, length})},
                                          {"scores", Tensor::view(scores.data(), {2, 5})}})
                              .front()
                              .values;
    CHECK(actual == expected);
  };
  // 1 2 3 1 2: 3 would be the second 1 2 3. In 4 4 4 4 4 a 4 would.
  check({1, 2, 3, 1, 2, 4, 4, 4, 4, 4}, {3, 9});
  check({1, 2, 3, 4}, {});
  check({1, 2}, {});
  OnnxFile wrong = file;
  wrong.model.mutable_graph()->mutable_node(0)->clear_attribute();
  check_error(wrong, ErrorKind::model, {"its ngram_size is 0"});
}

TEST_CASE("elements in the order in which they first occur") {
  OnnxFile file;
  file.input("x", {"N"}).output("y").output("places").output("counts");
  contrib(file, "Unique", {"x"}, {"y", "places", "counts"});
  std::vector<float> x{2, 1, 1, 3, 4, 3};
  const std::vector<Result> results = run_all(file, {{"x", Tensor::view(x.data(), {6})}});
  CHECK(results[0].values == Values{2, 1, 3, 4});
  CHECK(results[1].values == Values{0, 1, 1, 2, 3, 2});
  CHECK(results[2].values == Values{1, 2, 2, 1});
}

TEST_CASE("a dim is inserted, and ranges count by one or down") {
  OnnxFile file;
  file.input("x", {"A", "B"}).output("y").output("up").output("down");
  add_constant(file, "axis", {}, std::vector<std::int32_t>{-2});
  file.integers("two", {}, {2}).integers("nine", {1}, {9}).integers("step", {}, {-3});
  contrib(file, "ExpandDims", {"x", "axis"}, {"y"});
  contrib(file, "Range", {"two", "nine"}, {"up"});
  file.node("Range", {"nine", "two", "step"}, {"down"});
  std::vector<float> x = random_floats(6);
  const std::vector<Result> results = run_all(file, {{"x", Tensor::view(x.data(), {2, 3})}});
  CHECK(results[0].shape == Shape{2, 1, 3});
  CHECK(results[1].values == Values{2, 3, 4, 5, 6, 7, 8});
  CHECK(results[2].values == Values{9, 6, 3});
  OnnxFile wrong;
  wrong.input("x", {"A"}).output("y");
  add_constant(wrong, "axis", {}, std::vector<std::int32_t>{3});
  contrib(wrong, "ExpandDims", {"x", "axis"}, {"y"});
  check_error(wrong, ErrorKind::model, {"axis 3 is outside"});
}

}  // namespace
}  // namespace dyn::testing::contrib_quantized
