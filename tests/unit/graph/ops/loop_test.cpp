// The operator `loop` and bodies in the text.

#include <doctest/doctest.h>

#include <string>

#include "graph/ir/op.hpp"
#include "graph/ops/loop.hpp"
#include "graph/passes/segments.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn::graph;
using dyn::test::error_of;

namespace {

const std::string text = R"(dyn 1
weights "w.safetensors"
dim T in 1..64
weight bias: f32[4] = splat 0.5

body step(i: i64[], go: bool[], v: f32[T, 4], x: f32[4]) -> (w: f32[T, 4], sum: f32[T]) {
  v_matmul = matmul(v, kernel: f32[4, 4])
  v_add = v_matmul + bias
  w = v_add * x
  sum = reduce_sum(w) axes=[-1] keepdims=false
  return w, sum
}

dim N
dim K

graph g(v: f32[N, 4], xs: f32[_, 4], most: i64[]) -> (last: f32[N, 4], sums: f32[K, N]) {
  last, sums = loop(most, true, v, xs) body=step carried=1 scanned=1 steps=K dims=[N, 4, N]
  return last, sums
}
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string other = text;
  const std::size_t at = other.find(from);
  REQUIRE(at != std::string::npos);
  return other.replace(at, from.size(), to);
}

void check_refused(const std::string& from, const std::string& to, const std::string& message) {
  const std::string error = error_of(changed(from, to));
  INFO(error);
  CHECK(error.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("bodies are read and printed as they stand") {
  const Module module = parse(text);
  CHECK(print(module) == text);
  REQUIRE(module.bodies.size() == 1);
  CHECK(module.bodies[0]->dims != module.dims);
  CHECK(module.bodies[0]->weight_files == module.weight_files);
  CHECK(find_body(module, "step") == module.bodies[0].get());
  CHECK(find_body(module, "other") == nullptr);
  CHECK(to_string(module.value(module.outputs[1]).type) == "f32[K, N]");
  const LoopPlaces places = loop_places(module.nodes[0]);
  CHECK(places.carried == 1);
  CHECK(places.scanned == 1);
  CHECK(places.captured == 0);
  CHECK(places.collected == 1);
}

TEST_CASE("a loop gives its new dims their values, and is a segment of its own") {
  const Module module = parse(text);
  CHECK(defines_dims(module));
  CHECK(defined_symbols(module, module.nodes[0]).size() == 1);
  const std::vector<Segment> segments = cut(module);
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].defines);
  CHECK(segments[0].inputs.size() == 3);
  const Module fixed = parse(changed("steps=K dims=[N, 4, N]", "steps=3 dims=[N, 4, N]"));
  CHECK(defined_symbols(fixed, fixed.nodes[0]).empty());
}

TEST_CASE("loops that do not fit their bodies are refused") {
  check_refused("body=step", "body=stop", "no body stop");
  check_refused("v, xs) body", "v, xs, v) body", "4 inputs, and gets 5");
  check_refused("carried=1 scanned=1", "carried=3 scanned=2", "no 3 carried and 2 scanned");
  check_refused("carried=1 scanned=1", "carried=-1 scanned=1", "carried is -1");
  check_refused("xs: f32[_, 4]", "xs: f32[_, 5]", "xs at one step is f32[5]");
  check_refused("xs: f32[_, 4]", "xs: f32[4]", "xs at one step is f32[]");
  check_refused("v: f32[N, 4], xs", "v: f32[N, 4, 1], xs", "f32[N, 4, 1]");
  check_refused("most: i64[]", "most: i32[]", "i32");
  check_refused("dims=[N, 4, N]", "dims=[N, 4]", "dims has 2 entries for 3");
  check_refused("dims=[N, 4, N]", "dims=[N, 4, N, N]", "dims has 4 entries for 3");
  check_refused("  return w, sum", "  return cast(w) dtype=i32, sum", "declared");
  check_refused("scanned=1 steps=K", "scanned=1 conditional=true steps=K", "2 outputs, not 3");
  check_refused("(w: f32[T, 4], sum: f32[T])", "(w: i32[T, 4], sum: f32[T])", "declared");
}

TEST_CASE("carried values keep their dtypes") {
  std::string other = changed("(w: f32[T, 4], sum: f32[T])", "(w: i32[T, 4], sum: f32[T])");
  other.replace(other.find("return w, sum"), 13, "return cast(w) dtype=i32, sum");
  other.replace(other.find("last: f32[N, 4]"), 15, "last: i32[N, 4]");
  const std::string error = error_of(other);
  INFO(error);
  CHECK(error.find("f32[T, 4] before a step, and i32[T, 4] after it") != std::string::npos);
}

TEST_CASE("bodies stand before the graph, once, without state, and not too deep in each other") {
  const std::string body = "body step(i: i64[], go: bool[]) -> (r: i64[]) {\n  return i\n}\n";
  check_refused("dim N\n", body + "dim N\n", "`step` is defined twice");
  check_refused("dim T in 1..64\n", "dim T in 1..64\nstate s: f32[T]\n", "a body has no state");
  std::string deep =
      "dyn 1\nbody b0(i: i64[], go: bool[], v: f32[]) -> (w: f32[]) {\n  return v\n}\n";
  for (int k = 1; k < 40; ++k)
    deep += "dim J\nbody b" + std::to_string(k) +
            "(i: i64[], go: bool[], v: f32[]) -> (w: f32[]) {\n  w = loop(i, go, v) body=b" +
            std::to_string(k - 1) + " carried=1 steps=J\n  return w\n}\n";
  const std::string error = error_of(deep + "graph g(x: f32[]) -> (y: f32[]) {\n  return x\n}\n");
  INFO(error);
  CHECK(error.find("more than 32 deep") != std::string::npos);
}
