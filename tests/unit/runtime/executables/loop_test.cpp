// Loops whose bodies are compiled once, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;
using Floats = std::vector<float>;

namespace {

Floats random_row(std::int64_t count, unsigned salt) {
  std::mt19937_64 random(testing::test_seed() + salt);
  return testing::random_floats(random, count);
}

/// total = total * 0.5 + x * (a slice of s) + step, as long as the sum stays below the limit; each
/// total is kept.
const char* const folding = R"(dyn 1
dim T

body fold(step: i64[], go: bool[], total: f32[T], s: f32[T], x: f32[T], limit: f32[]) -> (goes_on: bool[], next: f32[T], kept: f32[T, 1]) {
  next = total * 0.5 + x * s + cast(step) dtype=f32
  goes_on = less(reduce_sum(next) axes=[0] keepdims=false, limit)
  return goes_on, next, reshape(next) shape=[T, 1]
}

dim N
dim L
dim K

graph g(x: f32[N], s: f32[L, N], limit: f32[], go: bool[], most: i64[]) -> (last: f32[N], all: f32[K, N, 1]) {
  last, all = loop(most, go, x, s, x, limit) body=fold carried=1 scanned=1 conditional=true steps=K dims=[N, N, 1]
  return last, all
}
)";

struct Folded {
  std::int64_t steps = 0;
  std::vector<double> last, all;
};

Folded fold(const Floats& x, const Floats& s, std::int64_t length, double limit, bool goes_on) {
  Folded result;
  result.last.assign(x.begin(), x.end());
  for (; goes_on && result.steps < length; ++result.steps) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<std::size_t>(result.steps) * x.size() + i;
      result.last[i] = result.last[i] * 0.5 +
                       static_cast<double>(x[i]) * static_cast<double>(s[at]) +
                       static_cast<double>(result.steps);
      sum += result.last[i];
    }
    result.all.insert(result.all.end(), result.last.begin(), result.last.end());
    goes_on = sum < limit;
  }
  return result;
}

void check_close(const Tensor& tensor, const std::vector<double>& expected) {
  const Floats values = testing::elements<float>(tensor);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(static_cast<double>(values[i]) == doctest::Approx(expected[i]).epsilon(1e-4));
}

Tensor scalar(std::int64_t value) { return Tensor::from({value}, {}); }

/// x grows by a copy of y at each step; the sums of all states are stacked.
const char* const growing = R"(dyn 1
dim T
dim M

body grow(step: i64[], go: bool[], v: f32[T], y: f32[M]) -> (next: f32[T + M], sum: f32[]) {
  next = concat(v, y * 2.0) axis=0
  sum = reduce_sum(next) axes=[0] keepdims=false
  return next, sum
}

dim N
dim P
dim K

graph g(x: f32[N], y: f32[M], most: i64[]) -> (last: f32[P], sums: f32[K]) {
  last, sums = loop(most, true, x, y) body=grow carried=1 steps=K dims=[P]
  return last, sums
}
)";

std::string growing_text() {
  std::string text = growing;
  return text.insert(text.rfind("dim N\n"), "dim M\n");
}

}  // namespace

TEST_CASE("a loop runs its body until the steps or the condition end it") {
  for (const char* device : {"cpu", "reference"}) {
    const Graph graph = Graph::from_text(folding, uncached(2, device));
    Call call(graph);
    for (const auto& [n, length, limit, goes_on] :
         {std::tuple{5, 7, 1e6F, true}, std::tuple{5, 40, 60.0F, true},
          std::tuple{1, 1, 1e6F, true}, std::tuple{3, 0, 1e6F, true}, std::tuple{5, 9, 1e6F, false},
          std::tuple{0, 4, 1e6F, true}, std::tuple{1500, 5, 1e6F, true},
          std::tuple{5, 2, 1e6F, true}}) {
      CAPTURE(n);
      CAPTURE(length);
      const Floats x = random_row(n, 1), s = random_row(static_cast<std::int64_t>(n) * length, 2);
      const Folded expected = fold(x, s, length, static_cast<double>(limit), goes_on);
      call.set_input("x", Tensor::view(x, {n}));
      call.set_input("s", Tensor::view(s, {length, n}));
      call.set_input("limit", Tensor::from({limit}, {}));
      call.set_input("go", Tensor::from({goes_on}, {}));
      call.set_input("most", scalar(length));
      call.run();
      check_close(call.output("last"), expected.last);
      CHECK(call.output("all").shape() == Shape{expected.steps, n, 1});
      check_close(call.output("all"), expected.all);
    }
    CHECK_THROWS_WITH_AS(
        graph.infer_shapes({{"x", {2}}, {"s", {3, 2}}, {"limit", {}}, {"go", {}}, {"most", {}}}),
        doctest::Contains("depend on the values"), Error);
  }
}

TEST_CASE("values of a loop may grow from step to step") {
  const Graph graph = Graph::from_text(growing_text(), uncached());
  for (const auto& [n, m, steps] : {std::tuple{3, 2, 5}, std::tuple{0, 1, 17}, std::tuple{4, 3, 0},
                                    std::tuple{1, 0, 3}, std::tuple{2, 600, 4}}) {
    const Floats x = random_row(n, 3), y = random_row(m, 4);
    const Outputs outputs = graph.run(
        {{"x", Tensor::view(x, {n})}, {"y", Tensor::view(y, {m})}, {"most", scalar(steps)}});
    std::vector<double> last(x.begin(), x.end()), sums;
    for (int step = 0; step < steps; ++step) {
      for (const float each : y) last.push_back(2 * static_cast<double>(each));
      double sum = 0;
      for (const double each : last) sum += each;
      sums.push_back(sum);
    }
    check_close(outputs["last"], last);
    check_close(outputs["sums"], sums);
  }
}

TEST_CASE("a loop's result may go into its next run") {
  const Graph graph = Graph::from_text(folding, uncached());
  Call call(graph);
  const Floats x = random_row(4, 5), s = random_row(12, 6);
  call.set_input("s", Tensor::view(s, {3, 4}));
  call.set_input("limit", Tensor::from({1e6F}, {}));
  call.set_input("go", Tensor::from({true}, {}));
  call.set_input("most", scalar(3));
  Floats now = x;
  Tensor given = Tensor::view(x, {4});
  for (int run = 0; run < 4; ++run) {
    call.set_input("x", given);
    call.run();
    const Folded expected = fold(now, s, 3, 1e6, true);
    check_close(call.output("last"), expected.last);
    now = testing::elements<float>(call.output("last"));
    given = call.output("last");
  }
}

TEST_CASE("steps of steady shapes allocate nothing") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim T

body half(step: i64[], go: bool[], a: f32[T], b: f32[3], s: f32[2], y: f32[T]) -> (c: f32[T], d: f32[3]) {
  c = a * 0.5 + y
  d = b - 1.0 + reduce_sum(s) axes=[0] keepdims=false
  return c, d
}

dim N
dim L

graph g(x: f32[N], y: f32[N], b: f32[3], s: f32[L, 2], most: i64[]) -> (last: f32[N], d: f32[3]) {
  last, d = loop(most, true, x, b, s, y) body=half carried=2 scanned=1 steps=L dims=[N, 3]
  return last, d
}
)",
                                       uncached(1));
  Call call(graph);
  const Floats x = random_row(5000, 7), y = random_row(5000, 8), s = random_row(4000, 9);
  const auto allocations = [&](std::int64_t steps) {
    call.set_input("x", Tensor::view(x, {5000}));
    call.set_input("y", Tensor::view(y, {5000}));
    call.set_input("b", Tensor::from({1.0F, 2.0F, 3.0F}, {3}));
    call.set_input("s", Tensor::view(s.data(), {steps, 2}));
    call.set_input("most", scalar(steps));
    call.run();  // plans
    const std::int64_t before = testing::allocations_of_this_thread();
    call.run();
    return testing::allocations_of_this_thread() - before;
  };
  CHECK(allocations(1000) == allocations(10));
}

TEST_CASE("loops run in loops, and in the branches of an if") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim T

body inner(j: i64[], go: bool[], v: f32[T]) -> (w: f32[T]) {
  w = v * 0.5
  return w
}

dim T
dim J

body outer(i: i64[], go: bool[], v: f32[T], x: f32[T]) -> (w: f32[T], kept: f32[T]) {
  u = loop(i, true, v) body=inner carried=1 steps=J dims=[T]
  less = -u
  w = if(less_equal(i, 2), u, less) + x
  return w, u
}

dim N
dim K

graph g(x: f32[N], most: i64[], go: bool[]) -> (y: f32[N], all: f32[K, N]) {
  y, all = loop(most, go, x, x) body=outer carried=1 steps=K dims=[N, N]
  return y, all
}
)",
                                       uncached());
  for (const std::int64_t steps : {6, 1, 0, 9}) {
    const Floats x = random_row(3, 10);
    const Outputs outputs = graph.run(
        {{"x", Tensor::view(x, {3})}, {"most", scalar(steps)}, {"go", Tensor::from({true}, {})}});
    std::vector<double> v(x.begin(), x.end()), all;
    for (std::int64_t i = 0; i < steps; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        for (std::int64_t j = 0; j < i; ++j) v[k] *= 0.5;
        all.push_back(v[k]);
        v[k] = (i <= 2 ? v[k] : -v[k]) + static_cast<double>(x[k]);
      }
    }
    check_close(outputs["y"], v);
    check_close(outputs["all"], all);
  }
}

TEST_CASE("loops that never end, and steps that do not fit, are errors that name the loop") {
  std::string text = folding;
  Options options = uncached();
  options.max_loop_steps = 1000;
  const auto run = [&](const Graph& graph, std::int64_t length, std::int64_t most) {
    const Floats x = random_row(4, 11), s = random_row(4 * length, 12);
    graph.run({{"x", Tensor::view(x, {4})},
               {"s", Tensor::view(s, {length, 4})},
               {"limit", Tensor::from({1e30F}, {})},
               {"go", Tensor::from({true}, {})},
               {"most", scalar(most)}});
  };
  const Graph folded = Graph::from_text(text, options);
  run(folded, 1000, 1000);
  check_error(
      ErrorKind::user, [&] { run(folded, 1001, 1001); }, "loop (line 15)",
      "has not ended after 1000 steps");
  check_error(ErrorKind::user, [&] { run(folded, 3, 4); }, "loop (line 15)", "4 slices", "and 3");
  std::string claims = text;
  claims.replace(claims.find("dims=[N, N, 1]"), 14, "dims=[4, N, 2]");
  claims.replace(claims.find("f32[K, N, 1]"), 12, "f32[K, N, 2]");
  claims.replace(claims.find("last: f32[N]"), 12, "last: f32[4]");
  const Graph claimed = Graph::from_text(claims, options);
  check_error(
      ErrorKind::user, [&] { run(claimed, 3, 3); }, "loop (line 15)", "[3, 4, 1]", "[3, 4, 2]");
  std::string kept = growing_text();
  kept.replace(kept.find("sum: f32[])"), 11, "sum: f32[T + M])");
  kept.replace(kept.find("return next, sum"), 16, "return next, next");
  kept.replace(kept.find("sums: f32[K]"), 12, "sums: f32[K, R]");
  kept.replace(kept.find("dims=[P]"), 8, "dims=[P, R]");
  kept.insert(kept.rfind("dim K\n"), "dim R\n");
  const Graph ragged = Graph::from_text(kept, options);
  const Floats x = random_row(3, 13);
  check_error(
      ErrorKind::user,
      [&] {
        ragged.run({{"x", Tensor::view(x, {3})}, {"y", Tensor::view(x, {3})}, {"most", scalar(2)}});
      },
      "loop (line", "step 1 makes a slice [9], and those before it [6]");
}

TEST_CASE("an error in a step says which") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim T

body pick(step: i64[], go: bool[], v: f32[], x: f32[T]) -> (w: f32[]) {
  w = v + gather(x, step) axis=0
  return w
}

dim N
dim K

graph g(x: f32[N], most: i64[]) -> (y: f32[]) {
  y = loop(most, true, 0.5, x) body=pick carried=1 steps=K
  return y
}
)",
                                       uncached());
  const Floats x{1, 2, 3};
  CHECK(graph.run({{"x", Tensor::view(x, {3})}, {"most", scalar(3)}})["y"].data<float>()[0] ==
        6.5F);
  check_error(
      ErrorKind::user, [&] { graph.run({{"x", Tensor::view(x, {3})}, {"most", scalar(4)}}); },
      "step 3 of loop", "out of range");
}
