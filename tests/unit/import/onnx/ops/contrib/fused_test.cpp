// Fused operators of ONNX Runtime's own domain beside plain loops in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::fused {
namespace {

double erf_gelu(double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }

double tanh_gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

Tensor view(std::vector<float>& values, const Shape& shape) {
  return Tensor::view(values.data(), shape);
}

TEST_CASE("an operator is found in its own domain alone") {
  OnnxFile standard;
  standard.input("x", {"N", 4}).output("y");
  standard.node("FusedMatMul", {"x", "x"}, {"y"});
  check_error(standard, ErrorKind::unsupported, {"FusedMatMul: 1 node(s)"});
  OnnxFile own;
  own.input("x", {"N", 4}).output("y");
  contrib(own, "Relu", {"x"}, {"y"});
  check_error(own, ErrorKind::unsupported, {"com.microsoft.Relu: 1 node(s)"});
  OnnxFile simplified;
  simplified.input("x", {"N", 4}).floats("f", {4}, {1, 2, 3, 4}).output("y");
  contrib(simplified, "SimplifiedLayerNormalization", {"x", "f"}, {"y"});
  check_error(simplified, ErrorKind::unsupported, {"com.microsoft.SimplifiedLayerNormalization"});
  simplified.model.mutable_graph()->mutable_node(0)->clear_domain();
  CHECK(statements_of(simplified).find("rms_norm") != std::string::npos);
}

TEST_CASE("a file in the layout of one CPU says how to get another") {
  OnnxFile file;
  file.input("x", {"N", 8, 4, 4}).output("y");
  file.node("ReorderInput", {"x"}, {"y"}).set_domain("com.microsoft.nchwc");
  check_error(file, ErrorKind::unsupported,
              {"com.microsoft.nchwc.ReorderInput", "ORT_ENABLE_EXTENDED"});
}

TEST_CASE("a model's own function goes before an operator of com.microsoft") {
  OnnxFile file;
  file.input("x", {"N", 4}).output("y");
  contrib(file, "Gelu", {"x"}, {"y"});
  onnx::FunctionProto& function = file.function("Gelu", {"a"}, {"b"});
  function.set_domain("com.microsoft");
  node(function, "Relu", {"a"}, {"b"});
  CHECK(statements_of(file).find("relu") != std::string::npos);
}

TEST_CASE("FusedMatMul transposes matrices and batches, and scales") {
  constexpr std::int64_t batch = 3, m = 4, k = 5, n = 2;
  for (int form = 0; form < 16; ++form) {
    CAPTURE(form);
    const bool trans_a = (form & 1) != 0, trans_b = (form & 2) != 0, batch_a = (form & 4) != 0,
               batch_b = (form & 8) != 0;
    OnnxFile file;
    file.input("a", {"", "", ""}).input("b", {"", "", ""}).output("y");
    onnx::NodeProto& node = contrib(file, "FusedMatMul", {"a", "b"}, {"y"});
    set(set(node, "transA", trans_a), "transB", trans_b);
    set(set(node, "transBatchA", batch_a), "transBatchB", batch_b);
    set_number(node, "alpha", 0.25F);
    std::vector<float> a = random_floats(batch * m * k), b = random_floats(batch * k * n);
    // With the batch in the middle the first axis belongs to the matrix.
    const auto shape = [&](std::int64_t rows, std::int64_t columns, bool turned, bool middle) {
      const std::int64_t first = turned ? columns : rows, last = turned ? rows : columns;
      return middle ? Shape{first, batch, last} : Shape{batch, first, last};
    };
    const auto element = [&](const std::vector<float>& x, const Shape& s, bool turned, bool middle,
                             std::int64_t i, std::int64_t row, std::int64_t column) {
      const std::int64_t first = turned ? column : row, last = turned ? row : column;
      return at(x, ((middle ? first : i) * s[1] + (middle ? i : first)) * s[2] + last);
    };
    const Shape a_shape = shape(m, k, trans_a, batch_a), b_shape = shape(k, n, trans_b, batch_b);
    Values expected;
    for (std::int64_t i = 0; i < batch * m * n; ++i) {
      double sum = 0;
      for (std::int64_t t = 0; t < k; ++t)
        sum += element(a, a_shape, trans_a, batch_a, i / (m * n), i / n % m, t) *
               element(b, b_shape, trans_b, batch_b, i / (m * n), t, i % n);
      expected.push_back(sum * 0.25);
    }
    const Result y = run(file, {{"a", {&a, a_shape}}, {"b", {&b, b_shape}}});
    CHECK(y.shape == Shape{batch, m, n});
    check_close(y.values, expected);
  }
}

TEST_CASE("FusedGemm applies its activation with its parameters") {
  struct Activation {
    const char* name;
    double (*function)(double);
  };
  constexpr std::int64_t m = 3, k = 4, n = 5;
  for (const Activation& activation :
       {Activation{"Relu", [](double x) { return std::max(x, 0.0); }},
        Activation{"LeakyRelu", [](double x) { return x >= 0 ? x : 0.3 * x; }},
        Activation{"Elu", [](double x) { return x >= 0 ? x : 0.3 * (std::exp(x) - 1); }},
        Activation{"HardSigmoid",
                   [](double x) { return std::min(std::max(0.3 * x + 0.6, 0.0), 1.0); }},
        Activation{"Tanh", [](double x) { return std::tanh(x); }}}) {
    CAPTURE(activation.name);
    OnnxFile file;
    file.input("a", {"M", 4}).input("b", {5, 4}).input("c", {5}).output("y");
    onnx::NodeProto& node = contrib(file, "FusedGemm", {"a", "b", "c"}, {"y"});
    set_word(set(node, "transB", 1), "activation", activation.name);
    set_number(set_number(node, "alpha", 0.5F), "beta", -2);
    set_number(set_number(node, "activation_alpha", 0.3F), "activation_beta", 0.6F);
    std::vector<float> a = random_floats(m * k), b = random_floats(n * k), c = random_floats(n);
    Values expected;
    for (std::int64_t i = 0; i < m * n; ++i) {
      double sum = 0;
      for (std::int64_t t = 0; t < k; ++t) sum += at(a, i / n * k + t) * at(b, i % n * k + t);
      expected.push_back(activation.function(0.5 * sum - 2 * at(c, i % n)));
    }
    check_close(run(file, {{"a", {&a, {m, k}}}, {"b", {&b, {n, k}}}, {"c", {&c, {n}}}}).values,
                expected);
  }
}

TEST_CASE("an activation that is not known is an error") {
  OnnxFile file;
  file.input("a", {"M", 4}).input("b", {4, 5}).output("y");
  set_word(contrib(file, "FusedGemm", {"a", "b"}, {"y"}), "activation", "Snake");
  check_error(file, ErrorKind::unsupported, {"FusedGemm", "the activation Snake"});
}

TEST_CASE("fused convolutions add a tensor before the activation, channels first or last") {
  constexpr std::int64_t batch = 2, channels = 3, height = 4, width = 5, filters = 2;
  for (const bool last : {false, true}) {
    CAPTURE(last);
    OnnxFile file;
    if (last)
      file.input("x", {"N", "H", "W", 3}).input("z", {"N", "", "", 2});
    else
      file.input("x", {"N", 3, "H", "W"}).input("z", {"N", 2, "", ""});
    file.input("b", {2}).output("y");
    std::vector<float> w = random_floats(filters * channels * 3 * 2);
    file.floats("w", {filters, channels, 3, 2}, w);
    onnx::NodeProto& node =
        contrib(file, last ? "NhwcFusedConv" : "FusedConv", {"x", "w", "b", "z"}, {"y"});
    set_list(node, "pads", {1, 0, 1, 1});
    set_word(node, "activation", "LeakyRelu");
    onnx::AttributeProto& parameters = *node.add_attribute();
    parameters.set_name("activation_params");
    parameters.add_floats(0.3F);
    std::vector<float> x = random_floats(batch * channels * height * width),
                       z = random_floats(batch * filters * height * width),
                       b = random_floats(filters);
    const auto place = [&](std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j,
                           std::int64_t count) {
      return last ? ((n * height + i) * width + j) * count + c
                  : ((n * count + c) * height + i) * width + j;
    };
    Values expected(z.size());
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t f = 0; f < filters; ++f)
        for (std::int64_t i = 0; i < height; ++i)
          for (std::int64_t j = 0; j < width; ++j) {
            double sum = at(b, f) + at(z, place(n, f, i, j, filters));
            for (std::int64_t t = 0; t < channels * 6; ++t) {
              const std::int64_t c = t / 6, row = i + t / 2 % 3 - 1, column = j + t % 2;
              if (row >= 0 && row < height && column < width)
                sum += at(x, place(n, c, row, column, channels)) * at(w, f * channels * 6 + t);
            }
            expected[static_cast<std::size_t>(place(n, f, i, j, filters))] =
                sum >= 0 ? sum : 0.3 * sum;
          }
    const Shape x_shape = last ? Shape{batch, height, width, channels}
                               : Shape{batch, channels, height, width},
                z_shape = last ? Shape{batch, height, width, filters}
                               : Shape{batch, filters, height, width};
    check_close(
        run(file, {{"x", {&x, x_shape}}, {"z", {&z, z_shape}}, {"b", {&b, {filters}}}}).values,
        expected);
  }
}

TEST_CASE("gelus with what is fused with them") {
  constexpr std::int64_t rows = 3, columns = 6;
  std::vector<float> x = random_floats(rows * columns), bias = random_floats(columns),
                     skip = random_floats(rows * columns);
  const auto sum = [&](std::int64_t i) { return at(x, i) + at(bias, i % columns); };
  const auto check = [&](const char* op, const std::vector<const char*>& inputs,
                         const std::function<double(std::int64_t)>& element, std::int64_t count) {
    CAPTURE(op);
    OnnxFile file;
    file.input("x", {"N", 6}).input("b", {6}).input("s", {"N", 6}).output("y");
    onnx::NodeProto& node = contrib(file, op, {}, {"y"});
    for (const char* input : inputs) node.add_input(input);
    Values expected;
    for (std::int64_t i = 0; i < count; ++i) expected.push_back(element(i));
    check_close(run(file, {{"x", {&x, {rows, columns}}},
                           {"b", {&bias, {columns}}},
                           {"s", {&skip, {rows, columns}}}})
                    .values,
                expected);
  };
  constexpr std::int64_t all = rows * columns, half = columns / 2;
  check("Gelu", {"x"}, [&](auto i) { return erf_gelu(at(x, i)); }, all);
  check("BiasGelu", {"x", "b"}, [&](auto i) { return erf_gelu(sum(i)); }, all);
  check("FastGelu", {"x"}, [&](auto i) { return tanh_gelu(at(x, i)); }, all);
  check("FastGelu", {"x", "b"}, [&](auto i) { return tanh_gelu(sum(i)); }, all);
  check("QuickGelu", {"x"}, [&](auto i) { return at(x, i) * sigmoid(1.702 * at(x, i)); }, all);
  check("BiasAdd", {"x", "b", "s"}, [&](auto i) { return sum(i) + at(skip, i); }, all);
  check("BiasDropout", {"x", "b", "s"}, [&](auto i) { return sum(i) + at(skip, i); }, all);
  check(
      "BiasSplitGelu", {"x", "b"},
      [&](auto i) {
        const std::int64_t left = i / half * columns + i % half;
        return sum(left) * erf_gelu(sum(left + half));
      },
      all / 2);
}

/// (x - mean) / deviation of `count` elements, `stride` apart; with `centers` false x / root mean
/// square.
Values normalized(const Values& x, double epsilon, bool centers) {
  double mean = 0, square = 0;
  for (const double each : x) mean += each / static_cast<double>(x.size());
  if (!centers) mean = 0;
  for (const double each : x)
    square += (each - mean) * (each - mean) / static_cast<double>(x.size());
  Values result;
  for (const double each : x) result.push_back((each - mean) / std::sqrt(square + epsilon));
  return result;
}

TEST_CASE("normalisation of a sum gives the sum too") {
  constexpr std::int64_t batch = 2, length = 3, hidden = 5;
  for (const bool centers : {false, true}) {
    for (const bool shared : {false, true}) {
      CAPTURE(centers);
      CAPTURE(shared);
      OnnxFile file;
      file.input("x", {"B", "S", 5}).input("f", {5}).input("b", {5}).output("y").output("sum");
      if (shared)
        file.input("s", {"S", 5});
      else
        file.input("s", {"B", "S", 5});
      onnx::NodeProto& node = centers ? contrib(file, "SkipLayerNormalization",
                                                {"x", "s", "f", "", "b"}, {"y", "", "", "sum"})
                                      : contrib(file, "SkipSimplifiedLayerNormalization",
                                                {"x", "s", "f", "b"}, {"y", "", "", "sum"});
      set_number(node, "epsilon", 0.1F);
      std::vector<float> x = random_floats(batch * length * hidden),
                         s = random_floats((shared ? 1 : batch) * length * hidden),
                         f = random_floats(hidden), b = random_floats(hidden);
      Values expected, sums;
      for (std::int64_t row = 0; row < batch * length; ++row) {
        Values sum;
        for (std::int64_t i = 0; i < hidden; ++i)
          sum.push_back(at(x, row * hidden + i) +
                        at(s, (shared ? row % length : row) * hidden + i) + at(b, i));
        const Values normal = normalized(sum, 0.1, centers);
        for (std::int64_t i = 0; i < hidden; ++i)
          expected.push_back(normal[static_cast<std::size_t>(i)] * at(f, i));
        sums.insert(sums.end(), sum.begin(), sum.end());
      }
      const std::vector<Result> results = run_all(
          file, {{"x", view(x, {batch, length, hidden})},
                 {"f", view(f, {hidden})},
                 {"b", view(b, {hidden})},
                 {"s", view(s, shared ? Shape{length, hidden} : Shape{batch, length, hidden})}});
      check_close(results[0].values, expected, 1e-5);
      check_close(results[1].values, sums);
    }
  }
}

TEST_CASE("normalisation of a sum refuses other ranks") {
  OnnxFile flat;
  flat.input("x", {5}).input("s", {5}).input("f", {5}).output("y");
  contrib(flat, "SkipLayerNormalization", {"x", "s", "f"}, {"y"});
  check_error(flat, ErrorKind::model, {"SkipLayerNormalization", "its input has 1 dims"});
  OnnxFile matrix;
  matrix.input("x", {"N", 5}).input("s", {"N", 5}).input("f", {1, 5}).output("y");
  contrib(matrix, "SkipSimplifiedLayerNormalization", {"x", "s", "f"}, {"y"});
  check_error(matrix, ErrorKind::model, {"its factors have 2 dims; they must be a vector"});
}

TEST_CASE("embeddings are summed and normalised, and masks counted") {
  constexpr std::int64_t batch = 2, length = 3, hidden = 4, words = 5;
  OnnxFile file;
  file.input("ids", {"B", "S"}, onnx::TensorProto::INT32)
      .input("segments", {"B", "S"}, onnx::TensorProto::INT32)
      .input("mask", {"B", "S"}, onnx::TensorProto::INT32)
      .output("y")
      .output("index")
      .output("sum");
  std::vector<float> table = random_floats(words * hidden), places = random_floats(6 * hidden),
                     kinds = random_floats(2 * hidden), f = random_floats(hidden),
                     b = random_floats(hidden);
  file.floats("w", {words, hidden}, table)
      .floats("p", {6, hidden}, places)
      .floats("k", {2, hidden}, kinds)
      .floats("f", {hidden}, f)
      .floats("b", {hidden}, b);
  set_number(contrib(file, "EmbedLayerNormalization",
                     {"ids", "segments", "w", "p", "k", "f", "b", "mask"}, {"y", "index", "sum"}),
             "epsilon", 0.1F);
  std::vector<std::int32_t> ids{4, 0, 3, 1, 1, 2}, segments{0, 1, 1, 0, 0, 1},
      mask{1, 1, 0, 1, 0, 0};
  Values expected, sums;
  for (std::int64_t row = 0; row < batch * length; ++row) {
    const auto token = static_cast<std::size_t>(row);
    Values sum;
    for (std::int64_t i = 0; i < hidden; ++i)
      sum.push_back(at(table, ids[token] * hidden + i) + at(places, row % length * hidden + i) +
                    at(kinds, segments[token] * hidden + i));
    const Values normal = normalized(sum, 0.1, true);
    for (std::int64_t i = 0; i < hidden; ++i)
      expected.push_back(normal[static_cast<std::size_t>(i)] * at(f, i) + at(b, i));
    sums.insert(sums.end(), sum.begin(), sum.end());
  }
  const std::vector<Result> results =
      run_all(file, {{"ids", Tensor::view(ids.data(), {batch, length})},
                     {"segments", Tensor::view(segments.data(), {batch, length})},
                     {"mask", Tensor::view(mask.data(), {batch, length})}});
  check_close(results[0].values, expected, 1e-5);
  check_close(results[1].values, {2, 1});
  check_close(results[2].values, sums);
}

TEST_CASE("normalisation over groups of channels, first or last, of a sum and with silu") {
  constexpr std::int64_t batch = 2, channels = 6, height = 2, width = 3, groups = 2,
                         inner = channels / groups, pixels = height * width;
  for (const bool last : {false, true}) {
    for (const bool skips : {false, true}) {
      CAPTURE(last);
      CAPTURE(skips);
      OnnxFile file;
      if (last)
        file.input("x", {"N", "H", "W", 6});
      else
        file.input("x", {"N", 6, "H", "W"});
      file.input("f", {6}).input("b", {6}).input("s", {"N", 6}).input("c", {6}).output("y");
      onnx::NodeProto& node = skips
                                  ? contrib(file, "SkipGroupNorm", {"x", "f", "b", "s", "c"}, {"y"})
                                  : contrib(file, "GroupNorm", {"x", "f", "b"}, {"y"});
      set(set(set(node, "groups", groups), "activation", skips), "channels_last", last);
      set_number(node, "epsilon", 0.05F);
      std::vector<float> x = random_floats(batch * channels * pixels), f = random_floats(channels),
                         b = random_floats(channels), s = random_floats(batch * channels),
                         c = random_floats(channels);
      const auto place = [&](std::int64_t n, std::int64_t channel, std::int64_t pixel) {
        return last ? (n * pixels + pixel) * channels + channel
                    : (n * channels + channel) * pixels + pixel;
      };
      Values expected(x.size());
      for (std::int64_t part = 0; part < batch * groups; ++part) {
        const std::int64_t n = part / groups, first = part % groups * inner;
        Values elements;
        for (std::int64_t i = 0; i < inner * pixels; ++i) {
          const std::int64_t channel = first + i / pixels;
          elements.push_back(at(x, place(n, channel, i % pixels)) +
                             (skips ? at(s, n * channels + channel) + at(c, channel) : 0));
        }
        const Values normal = normalized(elements, 0.05, true);
        for (std::int64_t i = 0; i < inner * pixels; ++i) {
          const std::int64_t channel = first + i / pixels;
          const double y = normal[static_cast<std::size_t>(i)] * at(f, channel) + at(b, channel);
          expected[static_cast<std::size_t>(place(n, channel, i % pixels))] =
              skips ? y * sigmoid(y) : y;
        }
      }
      check_close(run(file, {{"x",
                              {&x, last ? Shape{batch, height, width, channels}
                                        : Shape{batch, channels, height, width}}},
                             {"f", {&f, {channels}}},
                             {"b", {&b, {channels}}},
                             {"s", {&s, {batch, channels}}},
                             {"c", {&c, {channels}}}})
                      .values,
                  expected, 1e-5);
    }
  }
}

TEST_CASE("groups of channels must be there") {
  OnnxFile file;
  file.input("x", {"N", 4, 4, 6}).input("f", {6}).input("b", {6}).output("y");
  set(contrib(file, "GroupNorm", {"x", "f", "b"}, {"y"}), "activation", 0);
  check_error(file, ErrorKind::model, {"GroupNorm", "it has 0 groups"});
}

}  // namespace
}  // namespace dyn::testing::fused
