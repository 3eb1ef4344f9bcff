// Long sums: cut for threads where that is allowed, the same bits from any number of threads where
// it is not.

#include <algorithm>
#include <cmath>
#include <random>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

const char* const long_sums = R"(dyn 1
dim M in 1..64
dim S in 1..8192
weight w: f32[6000, 24] = random 1
weight thin: f32[6000, 3] = random 2
graph g(x: f32[M, 6000], q: f32[1, 2, 1, 64], k: f32[1, 2, S, 64], v: f32[1, 2, S, 64]) -> (y: f32[M, 24], z: f32[M, 3], a: f32[1, 2, 1, 64]) {
  y = relu(matmul(x, w))
  z = matmul(x, thin)
  a = attention(q, k, v)
  return y, z, a
}
)";

std::vector<float> normal(std::mt19937& random, std::size_t count) {
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

struct SumInputs {
  std::int64_t m, s;
  std::vector<float> x, q, k, v;
};

SumInputs make_sum_inputs(std::int64_t m, std::int64_t s) {
  std::mt19937 random(static_cast<unsigned>(m * 10000 + s));
  const auto keys = static_cast<std::size_t>(s) * 128;
  return {m,
          s,
          normal(random, static_cast<std::size_t>(m) * 6000),
          normal(random, 128),
          normal(random, keys),
          normal(random, keys)};
}

/// All outputs, one after the other.
std::vector<float> run(const Graph& graph, const SumInputs& in) {
  const auto outputs = graph.run({{"x", Tensor::view(in.x.data(), {in.m, 6000})},
                                  {"q", Tensor::view(in.q.data(), {1, 2, 1, 64})},
                                  {"k", Tensor::view(in.k.data(), {1, 2, in.s, 64})},
                                  {"v", Tensor::view(in.v.data(), {1, 2, in.s, 64})}});
  std::vector<float> all;
  for (const char* name : {"y", "z", "a"}) {
    const std::span<const float> values = outputs[name].data<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Graph load_sums(const char* device, int threads, bool deterministic) {
  Options options;
  options.device = device;
  options.threads = threads;
  options.deterministic = deterministic;
  return Graph::from_text(long_sums, options);
}

}  // namespace

TEST_CASE("with Options::deterministic any number of threads gives the same bits") {
  const Graph one = load_sums("cpu", 1, true), two = load_sums("cpu", 2, true),
              five = load_sums("cpu", 5, true);
  for (const auto& [m, s] : {std::pair{1, 4096}, std::pair{3, 700}, std::pair{40, 5000}}) {
    CAPTURE(m);
    const SumInputs inputs = make_sum_inputs(m, s);
    const std::vector<float> expected = run(one, inputs);
    CHECK(run(two, inputs) == expected);
    CHECK(run(five, inputs) == expected);
  }
}

TEST_CASE("sums that are cut for threads are what loops give") {
  const Graph reference = load_sums("reference", 1, false);
  for (const int threads : {2, 8}) {
    const Graph graph = load_sums("cpu", threads, false);
    for (const auto& [m, s] : {std::pair{1, 4096}, std::pair{5, 900}}) {
      const SumInputs inputs = make_sum_inputs(m, s);
      const std::vector<float> expected = run(reference, inputs), got = run(graph, inputs);
      REQUIRE(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-4).scale(1));
    }
  }
}

TEST_CASE("reductions give the same bits on any number of threads") {
  const char* const text = R"(dyn 1
dim R in 1..4096
dim C in 1..4096
graph g(x: f32[R, C]) -> (all: f32[], most: f32[], columns: f32[C], rows: f32[R]) {
  all = reduce_sum(x) axes=[0, 1] keepdims=false
  most = reduce_max(x) axes=[0, 1] keepdims=false
  columns = reduce_mean(x) axes=[0] keepdims=false
  rows = reduce_sum(x) axes=[1] keepdims=false
  return all, most, columns, rows
}
)";
  std::mt19937 random(5);
  for (const auto& [rows, columns] :
       {std::pair{1, 4096}, std::pair{900, 300}, std::pair{2100, 131}, std::pair{4096, 64}}) {
    const std::vector<float> x = normal(random, static_cast<std::size_t>(rows * columns));
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      Options options;
      options.device = "cpu";
      options.threads = threads;
      const auto outputs =
          Graph::from_text(text, options).run({{"x", Tensor::view(x.data(), {rows, columns})}});
      std::vector<float> all;
      for (const char* name : {"all", "most", "columns", "rows"}) {
        const std::span<const float> values = outputs[name].data<float>();
        all.insert(all.end(), values.begin(), values.end());
      }
      results.push_back(std::move(all));
    }
    double sum = 0;
    for (const float value : x) sum += value;
    CHECK(results[0][0] == doctest::Approx(sum).epsilon(1e-4).scale(100));
    CHECK(results[0][1] == *std::max_element(x.begin(), x.end()));
    CHECK(results[1] == results[0]);
    CHECK(results[2] == results[0]);
  }
}

TEST_CASE("with determinism a long sum of few outputs is planned in slices on any threads") {
  // One row: no strategy of these lets its lanes run along M, where K stays whole.
  runtime::LoadRequest request;
  request.text = R"(dyn 1
weight w: f32[100000, 24] = random 1
graph g(x: f32[1, 100000]) -> (y: f32[1, 24]) {
  y = matmul(x, w)
  return y
}
)";
  for (const int threads : {1, 8}) {
    Options options;
    options.device = "cpu";
    options.threads = threads;
    options.deterministic = true;
    const auto model = runtime::Model::load(request, options);
    CHECK(model->plan(model->bind_dims({}))->shared_bytes > 0);
  }
}
