// Models of 16-bit floats: their results, and the memory of their weights.

#include <cmath>

#include "dyn/dyn.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/support/half.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

Options with(const std::string& precision, const std::string& device = "cpu") {
  Options options;
  options.cache_dir = "none";
  options.threads = 2;
  options.precision = precision;
  options.device = device;
  return options;
}

Options weights_in(const std::string& weights) {
  Options options = with("f32");
  options.weights = weights;
  return options;
}

std::string in_dtype(std::string text, DType dtype) {
  for (std::size_t at; (at = text.find("half")) != std::string::npos;)
    text.replace(at, 4, name_of(dtype));
  return text;
}

// Three products of one input, a table that is gathered from and multiplied with, a bias.
constexpr const char* model = R"(dyn 1
dim S in 1..64
weight table: half[100, 48] = random 1
weight q: half[48, 96] = random 2
weight k: half[48, 96] = random 3
weight v: half[48, 48] = random 4
weight b: half[96] = random 5
graph g(ids: i64[S]) -> (y: half[S, 100], h: half[S, 48]) {
  h = gather(table, ids) axis=0
  scores = matmul(matmul(h, q) + b, matmul(h, k)) transpose_b=true
  mixed = matmul(softmax(scores) axis=-1, matmul(h, v))
  y = matmul(mixed, table) transpose_b=true
  return y, h
}
)";

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values;
  const auto* bits = static_cast<const std::uint16_t*>(tensor.raw());
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    values.push_back(testing::half_value(tensor.dtype(), bits[i]));
  return values;
}

}  // namespace

TEST_CASE("a model of 16-bit floats computes what the reference does, with weights of 16 bits") {
  const std::vector<std::int64_t> ids{0, 99, -100, 17, 31, 32, 33, 64, -1};
  const NamedTensors inputs = {
      {"ids", Tensor::view(ids.data(), {static_cast<std::int64_t>(ids.size())})}};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    const std::string text = in_dtype(model, dtype);
    const Outputs expected = Graph::from_text(text, with("f32", "reference")).run(inputs);
    const Graph graph = Graph::from_text(text, with("f32"));
    const Outputs actual = graph.run(inputs);
    CHECK(numbers(actual["h"]) == numbers(expected["h"]));
    const std::vector<double> y = numbers(actual["y"]), exact = numbers(expected["y"]);
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      worst = std::max(worst, std::fabs(y[i] - exact[i]));
      largest = std::max(largest, std::fabs(exact[i]));
    }
    CHECK(largest > 0.05);
    CHECK(worst < largest * (dtype == DType::f16 ? 0x1p-9 : 0x1p-6));
    if (!dyn::codegen::can_widen(dyn::codegen::select_isa(""), dtype)) continue;
    // The table is in memory once. Panels may be wider than their contents.
    constexpr std::size_t elements = 100 * 48 + 48 * 96 * 2 + 48 * 48 + 96;
    CHECK(graph.load_report().weight_bytes < elements * 2 * 13 / 10 + 1024);
    CHECK(Graph::from_text(text, weights_in("i8")).load_report().weight_bytes <
          graph.load_report().weight_bytes);
  }
}

TEST_CASE("functions of the host order and add up 16-bit floats, also where they decide sizes") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    const Graph graph = Graph::from_text(in_dtype(R"(dyn 1
dim N
dim P
dim Q
dim R
graph g(x: half[N], mark: half[N]) -> (u: half[_], at: i64[1, _], sums: half[N], steps: half[_], put: half[N]) {
  u, first, inverse, counts = unique(x) count=P
  at = nonzero(mark) count=Q
  sums = cumsum(x) axis=0
  steps = steps(-1.5: half, 2: half, 0.75: half) count=R
  put = scatter_elements(x, range() start=0 end=N, mark) reduction=add
  return u, at, sums, steps, put
}
)",
                                                  dtype),
                                         with("f32"));
    const std::vector<double> x{2.5, -1, 2.5, 0.375, -1, 1024}, mark{0, 1, 0, -0.0, 3, -2};
    std::vector<std::uint16_t> x_bits, mark_bits;
    for (const double each : x) x_bits.push_back(testing::half_bits(dtype, each));
    for (const double each : mark) mark_bits.push_back(testing::half_bits(dtype, each));
    const Outputs y =
        graph.run({{"x", Tensor::view(dtype, static_cast<const void*>(x_bits.data()), {6})},
                   {"mark", Tensor::view(dtype, static_cast<const void*>(mark_bits.data()), {6})}});
    const auto rounded = [dtype = dtype](double value) {
      return testing::half_value(dtype, testing::half_bits(dtype, value));
    };
    CHECK(numbers(y["u"]) == std::vector<double>{-1, 0.375, 2.5, 1024});
    const auto at = y["at"].data<std::int64_t>();
    CHECK(std::vector<std::int64_t>(at.begin(), at.end()) == std::vector<std::int64_t>{1, 4, 5});
    CHECK(numbers(y["sums"]) == std::vector<double>{2.5, 1.5, 4, 4.375, 3.375, rounded(1027.375)});
    CHECK(numbers(y["steps"]) == std::vector<double>{-1.5, -0.75, 0, 0.75, 1.5});
    CHECK(numbers(y["put"]) == std::vector<double>{2.5, 0, 2.5, 0.375, 2, rounded(1022)});
  }
}
