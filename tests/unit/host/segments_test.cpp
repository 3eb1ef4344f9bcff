// Models whose run decides sizes.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using testing::elements;
using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

namespace {

Floats random_whole_floats(std::size_t count, unsigned salt = 0) {
  std::mt19937_64 random(testing::test_seed() + salt);
  Floats floats(count);
  for (float& each : floats)
    each = static_cast<float>(std::uniform_int_distribution<int>(-3, 6)(random));
  return floats;
}

/// The doubled rows of x whose mark is not 0, their sum, and their places.
const char* const chosen_rows = R"(dyn 1
dim N in 0..1000
dim P in 0..1000
graph g(x: f32[N, 4], mark: f32[N]) -> (rows: f32[P, 4], sum: f32[4], at: i64[1, P]) {
  at = nonzero(mark - 1) count=P
  doubled = x * 2
  rows = gather(doubled, reshape(at) shape=[P]) axis=0
  sum = reduce_sum(rows) axes=[0] keepdims=false
  return rows, sum, at
}
)";

void check_chosen(const Outputs& outputs, const Floats& x, const Floats& mark) {
  Floats rows, sum(4);
  Integers at;
  for (std::size_t i = 0; i < mark.size(); ++i) {
    if (mark[i] == 1) continue;
    at.push_back(static_cast<std::int64_t>(i));
    for (std::size_t c = 0; c < 4; ++c) {
      rows.push_back(2 * x[i * 4 + c]);
      sum[c] += rows.back();
    }
  }
  CHECK(outputs["rows"].shape() == Shape{static_cast<std::int64_t>(at.size()), 4});
  CHECK(elements<float>(outputs["rows"]) == rows);
  CHECK(elements<float>(outputs["sum"]) == sum);
  CHECK(elements<std::int64_t>(outputs["at"]) == at);
}

}  // namespace

TEST_CASE("what is computed after nonzero has as many elements as it found") {
  for (const char* device : {"cpu", "reference"}) {
    Options options;
    options.device = device;
    const Graph graph = Graph::from_text(chosen_rows, options);
    CHECK(graph.outputs()[0].shape == "[P, 4]");
    for (const std::size_t n : {std::size_t{7}, std::size_t{0}, std::size_t{100}, std::size_t{1}}) {
      const Floats x = random_whole_floats(n * 4), mark = random_whole_floats(n, 7);
      const auto rows = static_cast<std::int64_t>(n);
      check_chosen(
          graph.run({{"x", Tensor::view(x, {rows, 4})}, {"mark", Tensor::view(mark, {rows})}}), x,
          mark);
    }
    CHECK_THROWS_WITH_AS(graph.infer_shapes({{"x", {3, 4}}, {"mark", {3}}}),
                         doctest::Contains("depend on the values"), Error);
    CHECK_THROWS_WITH_AS(
        graph.run({{"x", Tensor(DType::f32, {3, 4})}, {"mark", Tensor(DType::f32, {4})}}),
        doctest::Contains("dim N is 3"), Error);
    graph.prepare({{"x", {3, 4}}, {"mark", {3}}});
  }
}

TEST_CASE(
    "threads run one model whose run decides sizes, and a call is used again with outputs of the "
    "caller's") {
  const Graph graph = Graph::from_text(chosen_rows);
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&graph, t] {
      for (unsigned round = 0; round < 20; ++round) {
        const Floats x = random_whole_floats((t + round) * 4, t),
                     mark = random_whole_floats(t + round, round);
        check_chosen(graph.run({{"x", Tensor::view(x, {t + round, 4})},
                                {"mark", Tensor::view(mark, {t + round})}}),
                     x, mark);
      }
    });
  }
  threads.clear();
  Call call(graph);
  const Floats x{1, 2, 3, 4, 5, 6, 7, 8}, mark{1, 0};
  Floats rows(4), sum(4);
  call.set_input("x", Tensor::view(x, {2, 4}));
  call.set_input("mark", Tensor::view(mark, {2}));
  call.set_output("rows", Tensor::view(rows, {1, 4}));
  call.set_output("sum", Tensor::view(sum, {4}));
  call.run();
  CHECK(rows == Floats{10, 12, 14, 16});
  CHECK(sum == rows);
  const Floats both{0, 0};
  call.set_input("mark", Tensor::view(both, {2}));
  CHECK_THROWS_WITH_AS(
      call.run(), doctest::Contains("output 'rows' has shape [1, 4], but these inputs give [2, 4]"),
      Error);
}

TEST_CASE("sizes that a run decides are compared with the others, and with their bounds") {
  const Graph graph = Graph::from_text(
      "dyn 1\ndim M\ndim N\ndim P in 0..3\ngraph g(x: f32[N], m: f32[N], y: f32[M]) -> (z: f32[_]) "
      "{\n  at = nonzero(m) count=P\n"
      "  z = gather(x, reshape(at) shape=[P]) + y\n  return z\n}\n");
  const Floats x{1, 2, 3, 4}, y{10, 20};
  const auto run = [&](const Floats& m) {
    return graph.run(
        {{"x", Tensor::view(x, {4})}, {"m", Tensor::view(m, {4})}, {"y", Tensor::view(y, {2})}});
  };
  CHECK(elements<float>(run({0, 1, 0, 1})["z"]) == Floats{12, 24});
  CHECK_THROWS_WITH_AS(run({1, 1, 0, 1}), doctest::Contains("add (line 7)"), Error);
  CHECK_THROWS_WITH_AS(run({1, 1, 1, 1}), doctest::Contains("dim P is 4, but must be in 0..3"),
                       Error);
}

TEST_CASE("only the side that an if takes is run") {
  const std::string text = R"(dyn 1
dim K
dim N
dim R
graph g(x: f32[N], i: i64[K], c: bool[]) -> (y: f32[R]) {
  far = gather(x, i) axis=0
  near = x + 100
  y = if(c, far * 3, near) dims=[R]
  return y
}
)";
  for (const char* device : {"cpu", "reference"}) {
    Options options;
    options.device = device;
    const Graph graph = Graph::from_text(text, options);
    const Floats x{1, 2, 3};
    const auto run = [&](const Integers& i, bool holds) {
      return elements<float>(
          graph.run({{"x", Tensor::view(x, {3})},
                     {"i", Tensor::view(i, {static_cast<std::int64_t>(i.size())})},
                     {"c", Tensor::from({holds}, {})}})["y"]);
    };
    CHECK(run({2, 0}, true) == Floats{9, 3});
    CHECK(run({9, 9}, false) == Floats{101, 102, 103});
    CHECK_THROWS_AS(run({9}, true), Error);
  }
}

TEST_CASE("sides have sides, and decide sizes of their own") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim N
dim P
dim R
graph g(x: f32[N], c: bool[], d: bool[]) -> (y: f32[R]) {
  at = nonzero(x) count=P
  some = gather(x, reshape(at) shape=[P])
  inner = if(d, some * 2, some + range() end=P dtype=f32)
  y = if(c, inner, x) dims=[R]
  return y
}
)");
  const Floats x{0, 5, 0, 7};
  const auto run = [&](bool c, bool d) {
    return elements<float>(graph.run({{"x", Tensor::view(x, {4})},
                                      {"c", Tensor::from({c}, {})},
                                      {"d", Tensor::from({d}, {})}})["y"]);
  };
  CHECK(run(true, true) == Floats{10, 14});
  CHECK(run(true, false) == Floats{5, 8});
  CHECK(run(false, true) == x);
}

TEST_CASE("elements become dims, and steps are counted") {
  const Graph graph = Graph::from_text(
      "dyn 1\ndim N\ndim P\ndim Q\ndim R\ngraph g(x: f32[N], s: i64[2], a: i64[], b: i64[], c: "
      "i64[]) -> (y: f32[_, _], z: i64[_]) {\n  t = sizes(s) dims=[P, Q]\n"
      "  y = reshape(x) shape=[P, Q] + 1\n  z = steps(a, b, c) count=R\n  return y, z * 2\n}\n");
  const Floats x{1, 2, 3, 4, 5, 6};
  const auto run = [&](const Integers& s, std::int64_t a, std::int64_t b, std::int64_t c) {
    return graph.run({{"x", Tensor::view(x, {6})},
                      {"s", Tensor::view(s, {2})},
                      {"a", Tensor::from({a}, {})},
                      {"b", Tensor::from({b}, {})},
                      {"c", Tensor::from({c}, {})}});
  };
  const Outputs outputs = run({2, 3}, 10, 3, -3);
  CHECK(outputs["y"].shape() == Shape{2, 3});
  CHECK(elements<float>(outputs["y"]) == Floats{2, 3, 4, 5, 6, 7});
  CHECK(elements<std::int64_t>(outputs["z"]) == Integers{20, 14, 8});
  CHECK(run({6, 1}, 3, 3, 1)["z"].shape() == Shape{0});
  CHECK_THROWS_WITH_AS(run({4, 2}, 0, 1, 1), doctest::Contains("reshape"), Error);
  CHECK_THROWS_WITH_AS(run({-2, -3}, 0, 1, 1), doctest::Contains("sizes (line 7)"), Error);
  CHECK_THROWS_WITH_AS(run({2, 3}, 0, 1, 0), doctest::Contains("steps (line 9)"), Error);
}

TEST_CASE("unique finds distinct rows, compress chooses slices") {
  const Floats x = random_whole_floats(30 * 2);
  for (const bool sorted : {true, false}) {
    const Graph graph = Graph::from_text(
        std::string(
            "dyn 1\ndim N\ndim P\ngraph g(x: f32[N, 2]) -> (y: f32[_, 2], first: i64[_], inverse: "
            "i64[N], counts: i64[_]) {\n  y, first, inverse, counts = unique(x) axis=0 count=P") +
        (sorted ? "" : " sorted=false") + "\n  return y, first, inverse, counts\n}\n");
    const Outputs outputs = graph.run({{"x", Tensor::view(x, {30, 2})}});
    std::map<std::pair<float, float>, Integers> places;
    for (std::size_t i = 0; i < 30; ++i)
      places[{x[2 * i], x[2 * i + 1]}].push_back(static_cast<std::int64_t>(i));
    std::vector<std::pair<std::pair<float, float>, Integers>> expected(places.begin(),
                                                                       places.end());
    if (!sorted)
      std::ranges::sort(expected, {}, [](const auto& each) { return each.second.front(); });
    REQUIRE(outputs["y"].shape() == Shape{static_cast<std::int64_t>(expected.size()), 2});
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(outputs["y"].data<float>()[2 * k] == expected[k].first.first);
      CHECK(outputs["y"].data<float>()[2 * k + 1] == expected[k].first.second);
      CHECK(outputs["first"].data<std::int64_t>()[k] == expected[k].second.front());
      CHECK(outputs["counts"].data<std::int64_t>()[k] ==
            static_cast<std::int64_t>(expected[k].second.size()));
      for (const std::int64_t place : expected[k].second)
        CHECK(outputs["inverse"].data<std::int64_t>()[static_cast<std::size_t>(place)] ==
              static_cast<std::int64_t>(k));
    }
  }
  const Graph graph = Graph::from_text(
      "dyn 1\ndim A\ndim B\ndim C\ndim P\ngraph g(x: f32[A, B], c: bool[C]) -> (y: f32[A, _]) {\n  "
      "y = compress(x, c) axis=1 count=P\n  return y\n}\n");
  const Outputs outputs = graph.run(
      {{"x", Tensor::view(x, {12, 5})}, {"c", Tensor::from({false, true, false, true}, {4})}});
  REQUIRE(outputs["y"].shape() == Shape{12, 2});
  for (std::size_t a = 0; a < 12; ++a) {
    CHECK(outputs["y"].data<float>()[2 * a] == x[a * 5 + 1]);
    CHECK(outputs["y"].data<float>()[2 * a + 1] == x[a * 5 + 3]);
  }
}

TEST_CASE("texts that define dims wrongly are refused with their place") {
  const auto check = [](const std::string& body, const char* part) {
    CAPTURE(body);
    CHECK_THROWS_WITH_AS(
        Graph::from_text("dyn 1\ndim N\ndim P\ngraph g(x: f32[N], s: i64[N]) -> (y: f32[_]) {\n" +
                         body + "  return y\n}\n"),
        doctest::Contains(part), Error);
  };
  check("  y = nonzero(x) count=N\n", "which is a dim of the input x");
  check("  y = nonzero(x) count=7\n", "must be a dim of its own");
  check("  a = nonzero(x) count=P\n  b = nonzero(x * 2) count=P\n  y = x * 3\n",
        "gets its value from two operators");
}
