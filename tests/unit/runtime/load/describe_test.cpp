// Dims, states and kernels as the public API describes them.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "dyn/dyn.hpp"
#include "src/rkernel/target/policy.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;

namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

const char* const two_products = R"(dyn 1
dim M in 2..64 multiple 2 hint 8
dim C
weight w: f32[32, 48] = random 1
weight v: f32[48, 16] = random 2
graph g(x: f32[M, 32], mark: f32[C]) -> (y: f32[M, 16], z: f32[M, 8], m: f32[C]) {
  h = gelu(matmul(x, w))
  y = matmul(h, v)
  z = reduce_max(reshape(y) shape=[M, 8, 2]) axes=[2] keepdims=false
  m = neg(mark)
  return y, z, m
}
)";

std::vector<std::pair<std::string, Shape>> shapes(std::int64_t m) {
  return {{"x", {m, 32}}, {"mark", {3}}};
}

}  // namespace

TEST_CASE("dims that a text declares have its bounds, divisor and hint") {
  const Graph graph = Graph::from_text(two_products, testing::uncached());
  const std::vector<DimInfo> dims = graph.dims();
  REQUIRE(dims.size() == 2);
  CHECK(dims[0].kind == DimInfo::Kind::named);
  CHECK(dims[0].text == "M");
  CHECK(dims[0].low == 2);
  CHECK(dims[0].high == 64);
  CHECK(dims[0].divisor == 2);
  CHECK(dims[0].hint == 8);
  CHECK(dims[1].text == "C");
  CHECK(dims[1].high == unbounded);
  CHECK_FALSE(dims[1].hint.has_value());
  const DimInfo first = graph.inputs()[0].dims[0];
  CHECK(first.low == 2);
  CHECK(first.hint == 8);
  CHECK(graph.outputs()[0].dims[1].kind == DimInfo::Kind::constant);
  CHECK(graph.outputs()[0].dims[1].high == 16);
}

TEST_CASE("dims that operators compute are said to be so") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim N
dim P
graph picked(x: f32[N, 2], mark: f32[N]) -> (y: f32[_, 2]) {
  at = nonzero(mark) count=P
  y = gather(x + x, reshape(at) shape=[P]) axis=0 * 2
  return y
}
)",
                                       testing::uncached());
  CHECK(graph.outputs()[0].dims[0].text == "P");
  CHECK(graph.outputs()[0].dims[0].computed);
  CHECK_FALSE(graph.inputs()[0].dims[0].computed);
  // Kernels are those of the parts.
  CHECK_FALSE(graph.kernels().empty());
  check_error(
      ErrorKind::user, [&] { graph.kernels({{"x", {3, 2}}, {"mark", {3}}}); },
      "known when it has run");
}

TEST_CASE("states are described with their dims and the axis that runs append along") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim B in 1..4
dim C in 1..64
dim S in 1..8
dim P in 0..64
state keys: f32[B, 2, C]
graph g(x: f32[B, 2, S]) -> (y: f32[B, 2, P + S]) {
  y = slice(append(keys, x) axis=2 at=P) axes=[2] starts=[0] ends=[P + S]
  return y
}
)",
                                       testing::uncached());
  const std::vector<StateInfo> states = graph.states();
  REQUIRE(states.size() == 1);
  CHECK(states[0].name == "keys");
  CHECK(states[0].dtype == DType::f32);
  CHECK(states[0].shape == "[B, 2, C]");
  CHECK(states[0].axis == 2);
  REQUIRE(states[0].dims.size() == 3);
  CHECK(states[0].dims[0].high == 4);
  CHECK(states[0].dims[1].kind == DimInfo::Kind::constant);
}

TEST_CASE("kernels are the groups of a run, and at a shape they say what runs") {
  const Graph graph = Graph::from_text(two_products, testing::uncached());
  const std::vector<KernelInfo> kernels = graph.kernels();
  const runtime::Model& model = *graph.model();
  REQUIRE(kernels.size() == model.problems().size());
  std::set<std::string> names;
  std::size_t products = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    CAPTURE(kernels[i].name);
    CHECK(kernels[i].name == model.fusion().groups[i].name);
    CHECK(kernels[i].operators.size() == model.fusion().groups[i].nodes.size());
    CHECK(kernels[i].device.starts_with("cpu/"));
    CHECK(names.insert(kernels[i].name).second);
    if (kernels[i].backbone != "matmul") continue;
    ++products;
    CHECK(std::ranges::find(kernels[i].operators, "matmul") != kernels[i].operators.end());
  }
  CHECK(products == 2);
  const runtime::PlanPtr plan = model.plan(model.bind(shapes(64)));
  const std::vector<KernelChoice> choices = graph.kernels(shapes(64));
  REQUIRE(choices.size() == kernels.size());
  double flops = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const KernelChoice& choice = choices[i];
    CAPTURE(choice.kernel.name);
    CHECK(choice.kernel.name == kernels[i].name);
    CHECK(choice.threads == plan->launches[i].threads);
    CHECK(choice.predicted_seconds == plan->launches[i].predicted_seconds);
    CHECK((choice.candidates > 0) == (choice.kernel.backbone == "matmul"));
    CHECK(choice.program.empty() == (choice.candidates == 0));
    if (choice.candidates > 0) {
      // The words of the program that the policy takes.
      const rkernel::Choices all =
          model.kernel(i).choices({plan->symbols, model.threads()}, rkernel::Policy::Dyn);
      CHECK(choice.candidates == all.candidates.size());
      CHECK(choice.program == all.candidates[all.chosen].program);
    }
    flops += choice.flops;
  }
  CHECK(flops == 2.0 * 64 * (32 * 48 + 48 * 16));
  CHECK_THROWS_WITH_AS(graph.kernels(shapes(3)), doctest::Contains("M"), Error);
  CHECK(Graph::from_text(two_products, testing::uncached(1, "reference")).kernels().empty());
}

TEST_CASE("a policy without programs for a kernel runs dyn's, and kernels say so") {
  Options options = testing::uncached();
  options.policy = "vendor";
  for (const KernelChoice& choice : Graph::from_text(two_products, options).kernels(shapes(8))) {
    CAPTURE(choice.kernel.name);
    CHECK(choice.program.empty() == (choice.kernel.backbone != "matmul"));
  }
}

TEST_CASE("a graph that was moved from describes nothing") {
  Graph graph = Graph::from_text(two_products, testing::uncached());
  const Graph taken = std::move(graph);
  for (const auto& ask : std::initializer_list<std::function<void()>>{
           [&] { graph.dims(); },  // NOLINT(bugprone-use-after-move): the point of the test
           [&] { graph.states(); }, [&] { graph.metadata(); }, [&] { graph.kernels(); },
           [&] { graph.kernels({}); }})
    check_error(ErrorKind::user, ask, "moved from");
}
