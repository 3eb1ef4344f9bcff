// Graphs whose contractions oneDNN computes: the same results for one caller and for several, with
// epilogues of the model's own.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "targets/vendor/onednn.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

const char* const vendor_layers = R"(dyn 1
dim M in 0..512
weight w: f32[301, 530] = random 1
weight bias: f32[530] = random 2
weight v: f32[530, 64] = random 3
graph g(x: f32[M, 301], keys: f32[M, 64]) -> (y: f32[M, 64], scores: f32[M, M]) {
  h = gelu(matmul(x, w) + bias)
  y = matmul(h, v)
  scores = matmul(y, keys) transpose_b=true
  return y, scores
}
)";

Graph load_vendor_layers(const char* policy, int threads) {
  Options options;
  options.policy = policy;
  options.threads = threads;
  return Graph::from_text(vendor_layers, options);
}

/// Both outputs, one after the other.
std::vector<float> run(const Graph& graph, std::int64_t m, const std::vector<float>& x,
                       const std::vector<float>& keys) {
  const auto outputs = graph.run(
      {{"x", Tensor::view(x.data(), {m, 301})}, {"keys", Tensor::view(keys.data(), {m, 64})}});
  std::vector<float> all;
  for (const char* name : {"y", "scores"}) {
    const std::span<const float> values = outputs[name].data<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// Relative to the largest expected value.
double difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double worst = 0, largest = 1e-30;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double error = std::fabs(double{actual[i]} - double{expected[i]});
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    largest = std::max(largest, std::fabs(double{expected[i]}));
  }
  return worst / largest;
}

}  // namespace

TEST_CASE(
    "a graph whose products oneDNN computes gives what the reference gives, to several callers at "
    "once") {
  std::string why_not;
  if (!vendor::OneDnn::of_process(why_not)) {
    std::printf("skipped vendor.graph: %s\n", why_not.c_str());
    return;
  }
  std::mt19937 random(20261121);
  Options plain;
  plain.device = "reference";
  const Graph reference = Graph::from_text(vendor_layers, plain);
  for (const int threads : {1, 2}) {
    const Graph graph = load_vendor_layers("vendor", threads);
    for (const std::int64_t m : {0, 1, 53, 301}) {
      const std::vector<float> x = testing::random_floats(random, m * 301),
                               keys = testing::random_floats(random, m * 64),
                               expected = run(reference, m, x, keys);
      CHECK(difference(run(graph, m, x, keys), expected) < 2e-6);
      std::atomic<int> wrong{0};
      std::vector<std::thread> callers;
      for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&] {
          for (int i = 0; i < 5; ++i)
            wrong += difference(run(graph, m, x, keys), expected) < 2e-6 ? 0 : 1;
        });
      }
      for (std::thread& caller : callers) caller.join();
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("oneDNN brings no threads with it") {
  std::string why_not;
  if (!vendor::OneDnn::of_process(why_not)) {
    std::printf("skipped vendor.threads: %s\n", why_not.c_str());
    return;
  }
  std::mt19937 random(3);
  const std::vector<float> x = testing::random_floats(random, 256 * 301),
                           keys = testing::random_floats(random, 256 * 64);
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  run(load_vendor_layers("dyn", 2), 256, x, keys);  // starts dyn's helpers
  const Graph graph = load_vendor_layers("vendor", 2);
  // OpenMP's workers belong to the thread that asks for them: this thread has asked for none yet.
  std::thread([&] {
    const auto before = threads();
    for (int i = 0; i < 20; ++i) run(graph, 256, x, keys);
    CHECK(threads() <= before);
  }).join();
}

TEST_CASE(
    "with Options::vendor a graph gives what the reference gives, and the same bits as without "
    "where it is deterministic") {
  std::string why_not;
  if (!vendor::OneDnn::of_process(why_not)) {
    std::printf("skipped vendor.option: %s\n", why_not.c_str());
    return;
  }
  std::mt19937 random(5);
  const std::int64_t m = 301;
  const std::vector<float> x = testing::random_floats(random, m * 301),
                           keys = testing::random_floats(random, m * 64);
  Options plain;
  plain.device = "reference";
  const std::vector<float> expected = run(Graph::from_text(vendor_layers, plain), m, x, keys);
  const auto outputs = [&](bool deterministic, bool vendor) {
    Options options;
    options.threads = 2;
    options.deterministic = deterministic;
    options.vendor = vendor;
    return run(Graph::from_text(vendor_layers, options), m, x, keys);
  };
  CHECK(difference(outputs(false, true), expected) < 2e-6);
  CHECK(outputs(true, true) == outputs(true, false));
}
