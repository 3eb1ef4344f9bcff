// The public handles on the real target.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;
using testing::uncached;

namespace {

const char* const norm_layer = R"(dyn 1
dim B in 0..8
dim S in 0..64
weight norm.weight: f32[24] = random 1
weight norm.bias: f32[24] = random 2
weight w: f32[24, 40] = random 3
weight b: f32[40] = random 4
graph g(x: f32[B, S, 24]) -> (y: f32[B, S, 40], p: f32[B, S, 24]) {
  n = layer_norm(x, norm.weight, norm.bias)
  p = softmax(n) axis=-1
  y = gelu(matmul(n, w) + b)
  return y, p
}
)";

Tensor input(std::int64_t batch, std::int64_t length, unsigned seed) {
  Tensor tensor(DType::f32, {batch, length, 24});
  std::mt19937 random(seed);
  for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(random() % 2000) / 500 - 2;
  return tensor;
}

std::size_t lines_of(const char* path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

std::size_t thread_count() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  const auto x = a.data<float>(), y = b.data<float>();
  return a.shape() == b.shape() && std::equal(x.begin(), x.end(), y.begin());
}

}  // namespace

TEST_CASE("a factor beside a weight may have as many columns by what a run's sizes say") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim N
dim W
weight w: f32[6, 40] = random 3
graph g(x: f32[N, W]) -> (y: f32[N, 40], z: f32[N, 6]) {
  part = slice(x) axes=[1] starts=[1] ends=[min(99, W)]
  y = matmul(part, w)
  z = matmul(y, w) transpose_b=true
  return y, z
}
)",
                                       uncached(1));
  Tensor x(DType::f32, {5, 7}), part(DType::f32, {5, 6});
  std::mt19937 random(5);
  for (float& each : x.mutable_data<float>()) each = static_cast<float>(random() % 2000) / 500 - 2;
  for (std::size_t i = 0; i < 30; ++i)
    part.mutable_data<float>()[i] = x.data<float>()[i / 6 * 7 + 1 + i % 6];
  const Graph plain = Graph::from_text(R"(dyn 1
dim N
weight w: f32[6, 40] = random 3
graph g(x: f32[N, 6]) -> (y: f32[N, 40]) {
  y = matmul(x, w)
  return y
}
)",
                                       uncached(1));
  CHECK(same_numbers(graph.run({{"x", x}})["y"], plain.run({{"x", part}})["y"]));
  testing::check_error(
      ErrorKind::user, [&] { graph.run({{"x", Tensor(DType::f32, {5, 6})}}); }, "must be equal");
}

TEST_CASE("a steady call allocates nothing, at any number of threads") {
  for (const int threads : {1, 2}) {
    const Graph graph = Graph::from_text(norm_layer, uncached(threads));
    Call call(graph);
    call.set_input(0, input(4, 64, 1));
    for (int i = 0; i < 50; ++i) call.run();
    const std::int64_t before = testing::allocations_of_this_thread();
    for (int i = 0; i < 1000; ++i) call.run();
    CHECK(testing::allocations_of_this_thread() == before);
    CHECK(graph.kernels_compiled_since_load() == 0);
    CHECK(graph.shapes_planned() == 1);
  }
}

TEST_CASE("each row of a batch has the bits of the row alone, and so has each thread") {
  const Graph graph = Graph::from_text(norm_layer, uncached(2));
  const Tensor whole = input(3, 17, 5);
  const Outputs expected = graph.run({{"x", whole}});
  const auto x = whole.data<float>();
  for (std::size_t row = 0; row < 3; ++row) {
    const Outputs alone =
        graph.run({{"x", Tensor::from(x.subspan(row * 17 * 24, 17 * 24), {1, 17, 24})}});
    const auto y = expected["y"].data<float>().subspan(row * 17 * 40, 17 * 40);
    CHECK(std::equal(y.begin(), y.end(), alone["y"].data<float>().begin()));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const Outputs outputs = graph.run({{"x", whole}});
        if (!same_numbers(outputs["y"], expected["y"]) ||
            !same_numbers(outputs["p"], expected["p"]))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("the host's floating-point mode neither changes the bits nor is changed") {
#if defined(__x86_64__)
  const Graph graph = Graph::from_text(norm_layer, uncached(2));
  const Tensor x = input(2, 9, 3);
  const Outputs expected = graph.run({{"x", x}});
  const unsigned before = __builtin_ia32_stmxcsr();
  const unsigned toward_zero_and_flush = before | 0x6000 | 0x8040;
  __builtin_ia32_ldmxcsr(toward_zero_and_flush);
  const Outputs outputs = graph.run({{"x", x}});
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  CHECK((after & ~0x3fu) == (toward_zero_and_flush & ~0x3fu));
  CHECK(same_numbers(outputs["y"], expected["y"]));
#endif
}

// Resident memory means little under a sanitizer, which keeps what was freed; sanitized runs leave
// this suite out.
TEST_SUITE("full") {
  TEST_CASE("memory is flat over 10,000 random shapes") {
    Options options = uncached(2);
    options.plan_cache_bytes = 256 << 10;
    const Graph graph = Graph::from_text(norm_layer, options);
    Call call(graph);
    const unsigned seed = 42;
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    const Tensor memory = input(8, 64, 1);
    const auto run = [&](std::int64_t batch, std::int64_t length) {
      call.set_input(0, Tensor::view(memory.data<float>().data(), {batch, length, 24}));
      call.run();
    };
    run(8, 64);
    for (int i = 0; i < 1000; ++i) run(random() % 9, random() % 65);
    const std::size_t before = testing::resident_bytes();
    for (int i = 0; i < 10'000; ++i) run(random() % 9, random() % 65);
    CHECK(testing::resident_bytes() <= before + (std::size_t{1} << 20));
  }

  TEST_CASE("loading and destroying leaves memory, threads and mappings as they were") {
    const auto load = [] {
      Graph::from_text(norm_layer, uncached(2)).run({{"x", input(1, 3, 1)}});
    };
    const Graph keeps_the_code = Graph::from_text(norm_layer, uncached(2));
    for (int i = 0; i < 20; ++i) load();
    const std::size_t bytes = testing::resident_bytes(), mappings = lines_of("/proc/self/maps"),
                      threads = thread_count();
    for (int i = 0; i < 1000; ++i) load();
    CHECK(testing::resident_bytes() <= bytes + (std::size_t{2} << 20));
    CHECK(lines_of("/proc/self/maps") <= mappings + 4);
    CHECK(thread_count() <= threads);
  }

  TEST_CASE("a thousand loads that each drop their code leave nothing") {
    const std::string directory =
        (std::filesystem::temp_directory_path() / ("dyn-loads-" + std::to_string(getpid())))
            .string();
    Options options = uncached(2);
    options.cache_dir = directory;
    const auto load = [&] { Graph::from_text(norm_layer, options).run({{"x", input(1, 3, 1)}}); };
    for (int i = 0; i < 20; ++i) load();
    const std::size_t bytes = testing::resident_bytes(), mappings = lines_of("/proc/self/maps"),
                      threads = thread_count();
    for (int i = 0; i < dyn::testing::test_rounds(1000, 4); ++i) load();
    CHECK(testing::resident_bytes() <= bytes + (std::size_t{4} << 20));
    CHECK(lines_of("/proc/self/maps") <= mappings + 4);
    CHECK(thread_count() <= threads);
    std::filesystem::remove_all(directory);
  }
}

TEST_CASE("code of graphs that are gone leaves memory while another graph lives") {
  const auto load = [](int number) {
    // A number of its own makes code of its own.
    return Graph::from_text("dyn 1\ndim N\ngraph g(x: f32[N]) -> (y: f32[N]) {\n  y = tanh(x) * " +
                                std::to_string(number) + ".5\n  return y\n}\n",
                            uncached(1));
  };
  const std::vector<float> x{1, 2, 3};
  const auto value = [&](const Graph& graph) {
    return graph.run({{"x", Tensor::view(x.data(), {3})}})["y"].data<float>()[1];
  };
  const Graph stays = load(1);
  for (int i = 2; i < 5; ++i) load(i);
  [[maybe_unused]] const std::size_t mappings = lines_of("/proc/self/maps");
  for (int i = 10; i < 60; ++i) {
    const Graph goes = load(i);
    REQUIRE(goes.load_report().kernels_compiled > 0);
    CHECK(value(goes) == doctest::Approx(std::tanh(2.0) * (i + 0.5)));
  }
#ifndef DYN_SANITIZED  // the address sanitizer maps memory of its own all along
  CHECK(lines_of("/proc/self/maps") <= mappings + 4);
#endif
  CHECK(value(stays) == doctest::Approx(std::tanh(2.0) * 1.5));
  CHECK(load(10).load_report().kernels_compiled > 0);
}

TEST_CASE("who receives log lines may load graphs at that") {
  Options options = uncached(1);
  options.cache_dir = "/proc/self/nowhere";  // a reason for a line
  std::vector<std::string> lines;
  options.log = [&](LogLevel, std::string_view line) {
    lines.emplace_back(line);
    if (lines.size() == 1) Graph::from_text(norm_layer, options);
  };
  Graph::from_text(norm_layer, options);
  REQUIRE(lines.size() > 1);
  CHECK(lines.front().find("/proc/self/nowhere") != std::string::npos);
}

TEST_CASE("the handles' own errors") {
  const Graph graph = Graph::from_text(norm_layer, uncached(1));
  CHECK(graph.inputs().front().shape == "[B, S, 24]");
  CHECK(graph.outputs().size() == 2);
  const Outputs outputs = graph.run({{"x", input(1, 2, 1)}});
  CHECK(outputs.size() == 2);
  using testing::check_error;
  check_error(ErrorKind::user, [&] { outputs["z"]; }, "no output 'z'");
  check_error(ErrorKind::user, [&] { graph.run({}); }, "'x' is missing");
  check_error(
      ErrorKind::user, [&] { graph.run({{"x", input(1, 2, 1)}, {"q", input(1, 2, 1)}}); },
      "no input 'q'");
  check_error(
      ErrorKind::user, [&] { graph.run({{"x", input(1, 2, 1)}, {"x", input(1, 2, 1)}}); }, "twice");
  check_error(
      ErrorKind::user, [&] { graph.infer_shapes({{"x", {9, 2, 24}}}); }, "dim B is 9", "0..8");
  CHECK(graph.infer_shapes({{"x", {3, 2, 24}}}).front().second == Shape{3, 2, 40});
  check_error(ErrorKind::device, [] { Graph::load("no/such.dyn"); }, "no/such.dyn");
  check_error(ErrorKind::model, [] { Graph::from_text(""); }, "loading");
  Options other;
  other.device = "abacus";
  check_error(ErrorKind::user, [&] { Graph::from_text(norm_layer, other); }, "abacus");
  other.device = "reference";
  const Outputs reference = Graph::from_text(norm_layer, other).run({{"x", input(1, 2, 1)}});
  for (std::int64_t i = 0; i < 80; ++i) {
    const auto at = static_cast<std::size_t>(i);
    CHECK(outputs["y"].data<float>()[at] ==
          doctest::Approx(reference["y"].data<float>()[at]).epsilon(1e-4));
  }
}
