// Operators that the program gives.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "dyn/dyn.hpp"
#include "dyn/functions.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/half.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_says;
using testing::error_text;
using testing::uncached;

namespace {

/// y = x * factor + bias, over the rows of x.
Operator scale(float bias = 0) {
  return {.domain = "my",
          .name = "scale",
          .inputs = {"x"},
          .attributes = {{"factor", 2.0}},
          .shape = [](const ShapeContext& node) { return node.inputs(); },
          .kernel =
              [bias](const KernelContext& node) {
                const auto factor = static_cast<float>(node.attributes().number("factor"));
                const std::span<const float> x = node.inputs()[0].data<float>();
                const std::span<float> y = node.outputs()[0].mutable_data<float>();
                for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * factor + bias;
              }};
}

/// The matrix and its transpose, joined along the rows where it is square.
Operator twice_as_wide() {
  return {.domain = "my.own",
          .name = "Wide",
          .inputs = {"x", "y"},
          .optional_inputs = 1,
          .outputs = 2,
          .attributes = {{"times", 1, true}},
          .shape = [](const ShapeContext& node) -> std::vector<TensorType> {
            const TensorType& x = node.inputs()[0];
            if (node.inputs().size() > 1)
              node.require_equal(x.dims[0], node.inputs()[1].dims[0], "rows of x and y");
            const Dim columns = x.dims[1] * node.attributes().integer("times");
            return {{x.dtype, {x.dims[0], columns}}, {DType::i64, {}}};
          },
          .kernel =
              [](const KernelContext& node) {
                const Tensor& x = node.inputs()[0];
                const auto columns = static_cast<std::size_t>(x.shape()[1]);
                const std::span<float> y = node.outputs()[0].mutable_data<float>();
                const auto wide = static_cast<std::size_t>(node.outputs()[0].shape()[1]);
                for (std::size_t i = 0; i < y.size(); ++i)
                  y[i] = x.data<float>()[i / wide * columns + i % wide % columns];
                node.outputs()[1].mutable_data<std::int64_t>()[0] =
                    static_cast<std::int64_t>(node.inputs().size());
              }};
}

Operator swish() {
  return {.domain = "my",
          .name = "swish",
          .inputs = {"x"},
          .attributes = {{"alpha", 1.0}},
          .expression = "x * sigmoid(alpha * x)"};
}

std::string model(const std::string& statements, const std::string& output = "f32[N, 3]") {
  return "dyn 1\ndim N in 0..100\ngraph g(x: f32[N, 3]) -> (y: " + output + ") {\n" + statements +
         "  return y\n}\n";
}

Options with(const Operators& operators) {
  Options options = uncached();
  options.operators = operators;
  return options;
}

Tensor counting(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  float next = -1;
  for (float& each : tensor.mutable_data<float>()) each = next += 0.5F;
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("a kernel of the program runs between dyn's own, at every size and on every device") {
  const std::string text = model("  y = my::scale(x + 1.0) factor=3.0 \n");
  for (const char* device : {"cpu", "reference", "emulator"}) {
    Options options = with({scale()});
    options.device = device;
    if (options.device == "emulator") options.gpu = "a100";
    const Graph graph = Graph::from_text(text, options);
    for (const std::int64_t rows : {0, 1, 5}) {
      const Tensor x = counting({rows, 3});
      const Outputs outputs = graph.run({{"x", x}});
      REQUIRE(outputs["y"].shape() == Shape{rows, 3});
      for (std::size_t i = 0; i < x.data<float>().size(); ++i)
        CHECK(outputs["y"].data<float>()[i] == (x.data<float>()[i] + 1) * 3);
    }
  }
}

TEST_CASE("shape functions compute with dims, attributes and optional inputs") {
  const Graph graph = Graph::from_text(
      "dyn 1\ndim N in 1..100\ndim M in 1..100\n"
      "graph g(x: f32[N, 3], z: f32[M, 1]) -> (y: f32[N, 6], one: i64[], two: i64[]) {\n"
      "  a, one = my.own::Wide(x) times=2\n  b, two = my.own::Wide(a, z) times=1\n"
      "  return b, one, two\n}\n",
      with({twice_as_wide()}));
  const Tensor x = counting({2, 3});
  const Outputs outputs = graph.run({{"x", x}, {"z", Tensor(DType::f32, {2, 1})}});
  CHECK(outputs["one"].data<std::int64_t>()[0] == 1);
  CHECK(outputs["two"].data<std::int64_t>()[0] == 2);
  CHECK(outputs["y"].data<float>()[4] == x.data<float>()[1]);
  check_says(error_text([&] { graph.run({{"x", x}, {"z", Tensor(DType::f32, {3, 1})}}); }), {"3"});
  check_says(error_text([] {
               Graph::from_text(model("  y, n = my.own::Wide(x)\n"), with({twice_as_wide()}));
             }),
             {"my.own::Wide needs the attribute times", ":4:"});
}

TEST_CASE("an expression becomes dyn's operators, with the same bits") {
  const Options options = with({swish()});
  const Graph given =
                  Graph::from_text(model("  y = relu(my::swish(x - 1.0) alpha=1.5)\n"), options),
              written = Graph::from_text(model("  a = x - 1.0\n  y = relu(a * sigmoid(1.5 * a))\n"),
                                         options);
  const Tensor x = counting({7, 3});
  CHECK(same_bits(given.run({{"x", x}})["y"], written.run({{"x", x}})["y"]));
  check_says(error_text([] {
               Graph::from_text(model("  y = my::odd(x)\n"),
                                with({{.domain = "my",
                                       .name = "odd",
                                       .inputs = {"x"},
                                       .expression = "x + reduce_sum(x) axes=[0]"}}));
             }),
             {"my::odd"});
  check_says(error_text([] {
               Graph::from_text(
                   model("  y = my::odd(x)\n"),
                   with({{.domain = "my", .name = "odd", .inputs = {"x"}, .expression = "x + z"}}));
             }),
             {"`z` is neither a value nor a weight", "my::odd:1:5", "the expression of my::odd"});
}

TEST_CASE("inputs of an expression are broadcast, and have the dtypes of the node") {
  const Operator mix{.domain = "my",
                     .name = "mix",
                     .inputs = {"a", "b"},
                     .attributes = {{"shift", 3}, {"swaps", false}},
                     .expression = "where(swaps, a, b) * 2 + shift"};
  const Graph graph = Graph::from_text(
      "dyn 1\ndim N in 1..9\ngraph g(a: i32[N, 1], b: i32[4]) -> (y: i32[N, 4]) {\n"
      "  y = my::mix(a, b) + my::mix(a, b) swaps=true shift=0\n  return y\n}\n",
      with({mix}));
  const Outputs outputs = graph.run({{"a", Tensor::from<std::int32_t>({10, 20}, {2, 1})},
                                     {"b", Tensor::from<std::int32_t>({1, 2, 3, 4}, {4})}});
  CHECK(outputs["y"].data<std::int32_t>()[5] == 2 * 2 + 3 + 40);
}

TEST_CASE("a definition becomes dyn's operators, other definitions and names of its own") {
  const Operator centred{
      .domain = "my",
      .name = "centred",
      .inputs = {"x"},
      .definition = [](Builder& b, const Values& inputs, const NodeAttributes&) {
        const Value mean = reduce_mean(inputs[0], {{"axes", {-1}}, {"keepdims", true}});
        return Values{inputs[0] - mean.named("y") + b.splat("zero", DType::f32, {1}, 0)};
      }};
  const Operator soft{
      .domain = "my",
      .name = "soft",
      .inputs = {"x"},
      .attributes = {{"alpha", 1.0}},
      .definition = [](Builder& b, const Values& inputs, const NodeAttributes& node) {
        return Values{b.op("my::swish", {b.op("my::centred", {inputs[0]})},
                           {{"alpha", node.number("alpha")}})};
      }};
  const Options options = with({centred, soft, swish()});
  const Graph given = Graph::from_text(
      model("  mean = my::soft(x) alpha=0.5\n  y = my::soft(mean) alpha=0.5\n"), options);
  const Graph written = Graph::from_text(
      model("  a = x - reduce_mean(x) axes=[-1] keepdims=true\n  b = a * sigmoid(0.5 * a)\n"
            "  c = b - reduce_mean(b) axes=[-1] keepdims=true\n  y = c * sigmoid(0.5 * c)\n"),
      options);
  const Tensor x = counting({5, 3});
  CHECK(same_bits(given.run({{"x", x}})["y"], written.run({{"x", x}})["y"]));
}

TEST_CASE("a builder uses the program's operators") {
  Builder b("net", {scale(), swish()});
  const Dim n = b.dim("N", 1, 9);
  const Value x = b.input("x", DType::f32, {n, 3});
  b.output("y", b.op("my::swish", {b.op("my::scale", {x}, {{"factor", 4}})}));
  const std::string text = b.to_text();
  CHECK(text.find("scale = my::scale(x) factor=4.0\n") != std::string::npos);
  CHECK(text.find("swish = scale * ") != std::string::npos);
  const Tensor input = counting({2, 3});
  const Outputs outputs = b.load(uncached()).run({{"x", input}});
  const float scaled = 4 * input.data<float>()[5];
  CHECK(outputs["y"].data<float>()[5] == doctest::Approx(scaled / (1 + std::exp(-scaled))));
  CHECK(same_bits(Graph::from_text(text, with({scale()})).run({{"x", input}})["y"], outputs["y"]));
}

TEST_CASE("what a kernel throws names the node, and other runs go on") {
  Operator picky = scale();
  picky.kernel = [](const KernelContext& node) {
    if (node.inputs()[0].data<float>()[0] < 0) throw std::runtime_error("it is negative");
    if (node.inputs()[0].data<float>()[0] > 9) throw Error(ErrorKind::device, "too much");
    std::ranges::fill(node.outputs()[0].mutable_data<float>(), 1.0F);
  };
  const Graph graph =
      Graph::from_text(model("  above = my::scale(x)\n  y = above + 1.0\n"), with({picky}));
  const auto run = [&](float first) {
    return graph.run({{"x", Tensor::from<float>({first, 0, 0}, {1, 3})}});
  };
  check_says(error_text([&] { run(-1); }),
             {"it is negative", "the kernel of my::scale", "my::scale 'above' (line 4)"});
  try {
    run(10);
    FAIL("it ran");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::device);
    CHECK(error.message() == "too much");
  }
  CHECK(run(1)["y"].data<float>()[2] == 2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string error = error_text([&] { run(t % 2 == 0 ? -1 : 10); });
        if (error.find(t % 2 == 0 ? "it is negative" : "too much") == std::string::npos) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("halves reach a kernel as they are") {
  const Operator bits{.domain = "my",
                      .name = "bits",
                      .inputs = {"x"},
                      .shape = [](const ShapeContext& node) -> std::vector<TensorType> {
                        return {{DType::i32, node.inputs()[0].dims}};
                      },
                      .kernel =
                          [](const KernelContext& node) {
                            const auto* x =
                                static_cast<const std::uint16_t*>(node.inputs()[0].raw());
                            std::int32_t* y = node.outputs()[0].mutable_data<std::int32_t>().data();
                            for (std::int64_t i = 0; i < node.inputs()[0].size(); ++i) y[i] = x[i];
                          }};
  Tensor one(DType::f16, {1});
  const std::uint16_t code = 0x3c00;
  std::memcpy(one.raw(), &code, sizeof code);
  for (const char* device : {"cpu", "reference"}) {
    Options options = with({bits});
    options.device = device;
    const Graph graph = Graph::from_text(
        "dyn 1\ngraph g(x: f16[1]) -> (y: i32[1]) {\n  y = my::bits(x)\n  return y\n}\n", options);
    CHECK(graph.run({{"x", one}})["y"].data<std::int32_t>()[0] == 0x3c00);
  }
}

TEST_CASE("two operators of one name in two models stay apart, also with a cache on disk") {
  const testing::TemporaryFolder folder;
  const std::string text =
      "dyn 1\nweight w: f32[600, 600] = splat 0.5\ngraph g(x: f32[1, 600]) -> (y: f32[1, 600]) {\n"
      "  y = my::scale(my::swish(matmul(x, my::scale(w))))\n  return y\n}\n";
  Operator other = swish();
  other.expression = "x * alpha";
  const Tensor x = counting({1, 600});
  const auto run = [&](const Operators& operators) {
    Options options = with(operators);
    options.cache_dir = folder.string();
    return Graph::from_text(text, options).run({{"x", x}})["y"];
  };
  const Tensor first = run({scale(), swish()}), second = run({scale(1), other});
  for (int i = 0; i < 2; ++i) {
    CHECK(same_bits(run({scale(), swish()}), first));
    CHECK(same_bits(run({scale(1), other}), second));
  }
  CHECK_FALSE(same_bits(first, second));
}

TEST_CASE("operators that cannot be are refused") {
  const auto says = [](const char* part, const Operator& op) {
    check_says(error_text([&] { Operators{op}; }), {part, "the operator"});
  };
  Operator op = scale();
  op.domain = "";
  says("domain and name are letters", op);
  op = scale();
  op.name = "a.b";
  says("domain and name are letters", op);
  op = scale();
  op.inputs = {"x", "x"};
  says("the input `x`", op);
  op = scale();
  op.attributes = {{"x", 1}};
  says("the attribute `x`", op);
  op = scale();
  op.shape = nullptr;
  says("no shape function", op);
  op = scale();
  op.kernel = nullptr;
  says("neither a kernel nor", op);
  op = scale();
  op.outputs = 0;
  says("one output at least", op);
  op = scale();
  op.optional_inputs = 2;
  says("2 of 1 inputs cannot be optional", op);
  op = swish();
  op.outputs = 2;
  says("has one output", op);
  check_says(error_text([] { Operators{scale(), scale(1)}; }),
             {"two operators are called my::scale"});
  check_says(error_text([] { Graph::from_text(model("  y = my::scale(x)\n")); }),
             {"unknown operator `my::scale`; the program, or a plug-in, gives"});
  check_says(error_text([] { Graph::from_text(model("  y = my::scal(x)\n"), with({scale()})); }),
             {"did you mean `my::scale`?"});
  check_says(error_text([] { Graph::from_text(model("  my::y = x\n")); }),
             {"`my::y` is the name of an operator"});
}

TEST_CASE("shape functions and definitions that answer wrongly name the node") {
  const auto load = [](const Operator& op) {
    return error_text([&] { Graph::from_text(model("  y = my::scale(x)\n"), with({op})); });
  };
  Operator op = scale();
  op.shape = [](const ShapeContext&) { return std::vector<TensorType>(); };
  check_says(load(op), {"gives 0 types; it has 1 outputs", ":4:7"});
  op.shape = [](const ShapeContext&) { return std::vector<TensorType>{{DType::f32, Dims(9, 1)}}; };
  check_says(load(op), {"a type of 9 dims", "the shape function of my::scale", "line 4"});
  op.shape = [](const ShapeContext&) { return std::vector<TensorType>{{DType::f32, {-2}}}; };
  check_says(load(op), {"the negative size -2"});
  Builder other;
  const Dim foreign = other.dim("F");
  op.shape = [&](const ShapeContext&) { return std::vector<TensorType>{{DType::f32, {foreign}}}; };
  check_says(load(op), {"belongs to another model"});
  op.shape = [](const ShapeContext&) -> std::vector<TensorType> { throw std::logic_error("no"); };
  check_says(load(op), {"no", "the shape function of my::scale", "my::scale (line 4)"});
  op = {.domain = "my", .name = "scale", .inputs = {"x"}};
  op.definition = [](Builder&, const Values&, const NodeAttributes&) { return Values(); };
  check_says(load(op), {"gives 0 result(s), not 1"});
  op.definition = [](Builder& b, const Values& x, const NodeAttributes&) {
    return Values{b.op("my::scale", x)};
  };
  check_says(load(op), {"defined by each other more than 32 deep"});
  op.definition = [](Builder& b, const Values&, const NodeAttributes&) {
    return Values{b.input("z", DType::f32, {1})};
  };
  check_says(load(op), {"adds an input to the model", "my::scale (line 4)"});
  op.definition = [](Builder& b, const Values& x, const NodeAttributes&) {
    check_says(error_text([&] { b.op("relu", {x[0], x[0]}); }), {"relu"});  // and goes on
    return x;
  };
  check_says(load(op), {"the model cannot be used after an error", "my::scale (line 4)"});
  Values kept;
  op.definition = [&](Builder&, const Values& x, const NodeAttributes&) { return kept = x; };
  CHECK(load(op).empty());
  check_says(error_text([&] { kept.at(0) + 1; }), {"which is over"});
}
