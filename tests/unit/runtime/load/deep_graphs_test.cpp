// Graphs that are deep, or whose nodes have many operands or readers: loading takes time in
// proportion to their nodes, and no more stack than that of a small one.

#include <pthread.h>

#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::uncached;

namespace {

std::string graph_of(const std::string& parameters, const std::string& body) {
  return "dyn 1\ndim N in 0..100\ngraph g(" + parameters + ") -> (y: f32[_]) {\n" + body +
         "  return y\n}\n";
}

/// step(i, "v3") is the expression of v4.
std::string chain(int nodes, const std::function<std::string(int, const std::string&)>& step) {
  std::string body;
  std::string last = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string name = i + 1 == nodes ? "y" : fmt::format("v{}", i);
    body += fmt::format("  {} = {}\n", name, step(i, last));
    last = name;
  }
  return graph_of("x: f32[N]", body);
}

std::vector<float> run(const std::string& text, const std::vector<float>& x) {
  const Graph graph = Graph::from_text(text, uncached());
  const Outputs outputs =
      graph.run({{"x", Tensor::view(x.data(), {static_cast<std::int64_t>(x.size())})}});
  const auto y = outputs[0].data<float>();
  return {y.begin(), y.end()};
}

const std::vector<float> given{0.5f, -0.25f, 1.5f, 0, -2};

}  // namespace

TEST_CASE("a value that is reused at each of 10,000 steps loads in time, and is right") {
  const int steps = testing::test_rounds(10'000);
  const std::vector<float> got = run(
      chain(steps,
            [](int, const std::string& v) { return fmt::format("{0} + tanh({0}) * -0.01", v); }),
      given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    double expected = given[i];
    for (int step = 0; step < steps; ++step) expected += std::tanh(expected) * -0.01;
    CHECK(got[i] == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("a value that is reused at each of 40 steps, and again after its sum, loads in time") {
  constexpr int steps = 40;
  std::string body = "  v0 = x * 1.0\n";
  for (int i = 0; i < steps; ++i) body += fmt::format("  v{1} = v{0} + v{0} * -0.01\n", i, i + 1);
  body += fmt::format("  s = reduce_sum(v{0}) axes=[0]\n  y = v{0} - s\n", steps);
  const std::vector<float> got = run(graph_of("x: f32[N]", body), given);
  double sum = 0;
  const double factor = std::pow(0.99, steps);
  for (const float x : given) sum += x * factor;
  for (std::size_t i = 0; i < given.size(); ++i)
    CHECK(got[i] == doctest::Approx(given[i] * factor - sum).epsilon(1e-5));
}

TEST_CASE("a chain of 16,000 multiplications loads, and is right") {
  const std::vector<float> got =
      run(chain(testing::test_rounds(16'000),
                [](int i, const std::string& v) {
                  return fmt::format("{} * {}", v, i % 2 == 0 ? "1.25" : "0.8");
                }),
          given);
  for (std::size_t i = 0; i < given.size(); ++i)
    CHECK(got[i] == doctest::Approx(given[i]).epsilon(1e-3));
}

TEST_CASE("a concat of 2,000 parts loads in time, and is right") {
  std::string parts;
  for (int i = 0; i < 2000; ++i)
    parts += fmt::format("{}{}", i == 0 ? "" : ", ", i % 3 == 0 ? "a" : "x");
  const std::vector<float> got =
      run(graph_of("x: f32[N]", "  a = neg(x)\n  y = concat(" + parts + ") axis=0\n"), given);
  REQUIRE(got.size() == 2000 * given.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float x = given[i % given.size()];
    REQUIRE(got[i] == (i / given.size() % 3 == 0 ? -x : x));
  }
}

TEST_CASE("concats and slices in turn, 64 times, load in time, and are right") {
  // Each step appends v's first element and drops the first: v is rotated.
  std::string body, last = "x";
  for (int i = 0; i < 64; ++i) {
    body += fmt::format(
        "  c{0} = concat({1}, slice({1}) axes=[0] starts=[0] ends=[1]) axis=0\n"
        "  {2} = slice(c{0}) axes=[0] starts=[1] ends=[6]\n",
        i, last, i == 63 ? "y" : fmt::format("v{}", i));
    last = fmt::format("v{}", i);
  }
  const std::vector<float> got =
      run("dyn 1\ngraph g(x: f32[5]) -> (y: f32[5]) {\n" + body + "  return y\n}\n", given);
  for (std::size_t i = 0; i < given.size(); ++i) CHECK(got[i] == given[(i + 64) % given.size()]);
}

TEST_CASE("256 maxima that are expanded again load in time, and are right") {
  std::string body = "  v0 = x * 1\n";
  for (int i = 0; i < 256; ++i)
    body +=
        fmt::format("  m{0} = reduce_max(v{0}) axes=[0]\n  v{1} = v{0} - m{0} * 0.5\n", i, i + 1);
  body += "  y = v256 + 0\n";
  const std::vector<float> got = run(graph_of("x: f32[N]", body), given);
  std::vector<double> expected(given.begin(), given.end());
  for (int i = 0; i < 256; ++i) {
    const double peak = *std::max_element(expected.begin(), expected.end());
    for (double& value : expected) value -= peak * 0.5;
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-4));
}

TEST_CASE("a thread with a small stack loads a chain of 400") {
  struct Work {
    std::string text;
    std::vector<float> got;
    std::string failed;
  } work{chain(400, [](int, const std::string& v) { return v + " * 1.01"; }), {}, {}};
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 128 << 10) == 0);
  pthread_t thread{};
  const auto body = [](void* given_work) -> void* {
    auto& one = *static_cast<Work*>(given_work);
    try {
      one.got = run(one.text, given);
    } catch (const std::exception& error) { one.failed = error.what(); }
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(work.failed.empty());
  REQUIRE(work.got.size() == given.size());
  CHECK(work.got[0] == doctest::Approx(given[0] * std::pow(1.01, 400)).epsilon(1e-3));
}
