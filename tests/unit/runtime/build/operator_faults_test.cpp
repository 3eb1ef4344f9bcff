// Operators of the program that misbehave when sizes are known, or in places other than a plain
// run.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "dyn/dyn.hpp"
#include "tests/support/error_text.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_says;
using testing::error_text;

namespace {

/// my::odd with one input, f32, and an output of these dims, which the kernel fills with ones.
Operator odd(std::function<Dims(const Dims&)> dims) {
  return {.domain = "my",
          .name = "odd",
          .inputs = {"x"},
          .shape = [dims = std::move(dims)](const ShapeContext& node) -> std::vector<TensorType> {
            return {{DType::f32, dims(node.inputs()[0].dims)}};
          },
          .kernel =
              [](const KernelContext& node) {
                for (float& each : node.outputs()[0].mutable_data<float>()) each = 1;
              }};
}

Dims same(const Dims& dims) { return dims; }

/// Throws for a first element below 0.
Operator picky() {
  Operator op = odd(same);
  op.name = "picky";
  op.kernel = [](const KernelContext& node) {
    const std::span<const float> x = node.inputs()[0].data<float>();
    if (!x.empty() && x[0] < 0) throw std::runtime_error("it is negative");
    std::ranges::copy(x, node.outputs()[0].mutable_data<float>().begin());
  };
  return op;
}

Options using_operator(const Operator& op, const char* device = "cpu") {
  Options options = testing::uncached(2, device);
  options.operators = {op};
  return options;
}

Graph calling_odd(const Operator& op, const std::string& output) {
  return Graph::from_text(
      "dyn 1\ndim N in 0..100\ndim M in 0..100\n"
      "graph g(x: f32[N, M]) -> (y: " +
          output +
          ") {\n"
          "  odd = my::odd(x)\n  y = relu(odd)\n  return y\n}\n",
      using_operator(op));
}

Tensor of(const Shape& shape, float value = 0) {
  Tensor tensor(DType::f32, shape);
  for (float& each : tensor.mutable_data<float>()) each = value;
  return tensor;
}

}  // namespace

TEST_CASE("sizes that a shape function makes negative at a run are refused there") {
  const Graph graph =
      calling_odd(odd([](const Dims& x) { return Dims{x[0] - 5, x[1]}; }), "f32[N - 5, M]");
  CHECK(graph.run({{"x", of({7, 2})}})["y"].shape() == Shape{2, 2});
  CHECK(graph.run({{"x", of({5, 2})}})["y"].shape() == Shape{0, 2});
  check_says(error_text([&] { graph.run({{"x", of({3, 2})}}); }),
             {"a size that the shape function of my::odd gives", "my::odd (line 5)", "-2"});
}

TEST_CASE("sizes divided by a size of 0, and products beyond 63 bits, are errors of the run") {
  const Graph divided =
      calling_odd(odd([](const Dims& x) { return Dims{floordiv(x[0], x[1]), x[1]}; }), "f32[_, M]");
  CHECK(divided.run({{"x", of({6, 2})}})["y"].shape() == Shape{3, 2});
  CHECK_FALSE(error_text([&] { divided.run({{"x", of({6, 0})}}); }).empty());
  const Graph huge = calling_odd(
      odd([](const Dims& x) { return Dims{x[0] * (std::int64_t{1} << 58), x[1]}; }), "f32[_, M]");
  CHECK_FALSE(error_text([&] { huge.run({{"x", of({64, 64})}}); }).empty());
}

TEST_CASE("a shape function that changes its mind does no harm") {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Operator op = odd([calls](const Dims& x) { return Dims{x[0], x[1] + (*calls)++ % 2}; });
  const std::string error = error_text([&] {
    const Graph graph = calling_odd(op, "f32[N, _]");
    const Outputs outputs = graph.run({{"x", of({3, 4})}});
    CHECK(outputs["y"].shape()[0] == 3);
  });
  CAPTURE(error);
  CHECK(*calls > 0);
}

TEST_CASE("attributes of the program's operators are constants") {
  Operator op = odd(same);
  op.attributes = {{"times", 1}, {"list", std::vector<std::int64_t>{1}}};
  Builder b("net", {op}), c("net", {op});
  const Dim n = b.dim("N", 1, 9), m = c.dim("M", 1, 9);
  const Value x = b.input("x", DType::f32, {n}), y = c.input("y", DType::f32, {m});
  check_says(error_text([&] { b.op("my::odd", {x}, {{"times", n}}); }),
             {"my::odd", "times must be an integer"});
  check_says(error_text([&] { c.op("my::odd", {y}, {{"list", {1, m}}}); }),
             {"my::odd", "list must be"});
}

TEST_CASE("a kernel that puts another tensor in place of its output is refused") {
  Operator op = odd(same);
  op.kernel = [](const KernelContext& node) { node.outputs()[0] = Tensor(DType::f32, {1, 1}); };
  const Graph graph = calling_odd(op, "f32[N, M]");
  check_says(error_text([&] { graph.run({{"x", of({3, 2})}}); }),
             {"another tensor in place of output 0", "the kernel of my::odd", "'odd'"});
}

TEST_CASE("a kernel cannot write its inputs, nor take what is no attribute of its operator") {
  Operator op = odd(same);
  op.kernel = [](const KernelContext& node) {
    Tensor x = node.inputs()[0];
    x.mutable_data<float>()[0] = 1;
  };
  const Graph writes = calling_odd(op, "f32[N, M]");
  check_says(error_text([&] { writes.run({{"x", of({3, 2})}}); }), {"the kernel of my::odd"});
  op.kernel = [](const KernelContext& node) { node.attributes().number("alpha"); };
  const Graph asks = calling_odd(op, "f32[N, M]");
  check_says(error_text([&] { asks.run({{"x", of({3, 2})}}); }),
             {"my::odd has no attribute `alpha`"});
}

TEST_CASE("a kernel may run another model, and this one's outputs may outlive everything") {
  const auto inner = std::make_shared<const Graph>(Graph::from_text(
      "dyn 1\ndim N\ngraph g(x: f32[N]) -> (y: f32[N]) {\n  y = x * 3.0\n  return y\n}\n",
      testing::uncached()));
  Operator op = odd(same);
  op.kernel = [inner](const KernelContext& node) {
    const Tensor& x = node.inputs()[0];
    const Outputs outputs = inner->run({{"x", x.reshaped({x.size()})}});
    std::ranges::copy(outputs["y"].data<float>(), node.outputs()[0].mutable_data<float>().begin());
  };
  Outputs outputs = calling_odd(op, "f32[N, M]").run({{"x", of({3, 2}, 2)}});
  op = {};
  CHECK(outputs["y"].data<float>()[5] == 6);
}

TEST_CASE("what a kernel throws reaches calls, sessions, loops, segments and the emulated GPU") {
  const auto says = [](const std::string& error, const char* node) {
    check_says(error, {"it is negative", "the kernel of my::picky", node});
  };
  const std::string plain =
      "dyn 1\ndim N in 1..9\ngraph g(x: f32[N]) -> (y: f32[N]) {\n  p = my::picky(x)\n"
      "  y = p + 1.0\n  return y\n}\n";
  const Graph graph = Graph::from_text(plain, using_operator(picky()));
  Call call(graph);
  call.set_input("x", of({3}, -1));
  for (int i = 0; i < 2; ++i) says(error_text([&] { call.run(); }), "my::picky 'p' (line 4)");
  call.set_input("x", of({3}, 1));
  call.run();

  for (const char* device : {"reference", "emulator"}) {
    Options options = using_operator(picky(), device);
    if (options.device == "emulator") options.gpu = "a100";
    const Graph elsewhere = Graph::from_text(plain, options);
    says(error_text([&] { elsewhere.run({{"x", of({3}, -1)}}); }), "my::picky 'p' (line 4)");
    CHECK(elsewhere.run({{"x", of({3}, 1)}})["y"].data<float>()[2] == 2);
  }

  const Graph loops = Graph::from_text(
      "dyn 1\ndim T\nbody step(i: i64[], go: bool[], v: f32[T]) -> (next: f32[T]) {\n"
      "  next = my::picky(v) - 1.0\n  return next\n}\ndim N in 1..9\ndim K\n"
      "graph g(x: f32[N], most: i64[]) -> (last: f32[N]) {\n"
      "  last = loop(most, true, x) body=step carried=1 steps=K dims=[N]\n  return last\n}\n",
      using_operator(picky()));
  const auto steps = [&](std::int64_t count) {
    return loops.run({{"x", of({3}, 1)}, {"most", Tensor::from<std::int64_t>({count}, {})}});
  };
  CHECK(steps(2)["last"].data<float>()[1] == -1);
  says(error_text([&] { steps(3); }), "my::picky");

  const Graph segments = Graph::from_text(
      "dyn 1\ndim N in 1..9\ndim P in 0..9\ngraph g(x: f32[N]) -> (y: i64[1, P]) {\n"
      "  p = my::picky(x)\n  y = nonzero(p) count=P\n  return y\n}\n",
      using_operator(picky()));
  says(error_text([&] { segments.run({{"x", of({3}, -1)}}); }), "my::picky 'p' (line 5)");
  CHECK(segments.run({{"x", of({3}, 1)}})["y"].shape() == Shape{1, 3});
}

TEST_CASE("what a kernel throws while weights are computed is an error of the load") {
  check_says(error_text([] {
               Graph::from_text(
                   "dyn 1\ndim N in 1..9\nweight w: f32[4] = splat -1.0\n"
                   "graph g(x: f32[N, 4]) -> (y: f32[N, 4]) {\n"
                   "  folded = my::picky(w)\n  y = x + folded\n  return y\n}\n",
                   using_operator(picky()))
                   .run({{"x", of({2, 4})}});
             }),
             {"it is negative", "the kernel of my::picky", "'folded'"});
}
