// Threads that load, run and drop graphs at once, as a server does; tests/thread_sanitizer.sh looks
// for races.

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

const char* const texts[] = {R"(dyn 1
dim B in 0..4
dim S in 0..40
weight norm.weight: f32[24] = random 1
weight norm.bias: f32[24] = random 2
weight w: f32[24, 72] = random 3
graph layer(x: f32[B, S, 24]) -> (y: f32[B, S, 72]) {
  y = gelu(matmul(layer_norm(x, norm.weight, norm.bias), w))
  return y
}
)",
                             R"(dyn 1
dim B in 0..4
dim S in 0..40
graph attend(x: f32[B, S, 24]) -> (y: f32[B, 3, S, 8]) {
  q = transpose(reshape(x) shape=[B, S, 3, 8]) perm=[0, 2, 1, 3]
  y = attention(q, q, q + 0.5) causal=true
  return y
}
)"};

struct Shape2 {
  std::int64_t batch, length;
  auto operator<=>(const Shape2&) const = default;
};

Tensor input(const Shape2& shape) {
  Tensor tensor(DType::f32, {shape.batch, shape.length, 24});
  std::mt19937 random(static_cast<unsigned>(shape.batch * 100 + shape.length));
  for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(random() % 2000) / 500 - 2;
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace

TEST_CASE("threads load, run and drop graphs at once, and get what one thread gets") {
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / ("dyn-concurrent-" + std::to_string(getpid()));
  Options options;
  options.cache_dir = cache.string();
  options.threads = 2;
  options.plan_cache_bytes = 16 << 10;  // some plans are dropped
  const std::uint64_t seed = testing::test_seed();

  std::mt19937_64 random(seed);
  std::map<Shape2, Tensor> expected[2];
  for (std::size_t text = 0; text < 2; ++text) {
    const Graph graph = Graph::from_text(texts[text], options);
    for (int i = 0; i < 12; ++i) {
      const Shape2 shape{static_cast<std::int64_t>(random() % 5),
                         static_cast<std::int64_t>(random() % 41)};
      expected[text].emplace(shape, graph.run({{"x", input(shape)}})["y"]);
    }
  }
  std::filesystem::remove_all(cache);  // the threads fill it again, at once

  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 5; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 own(seed + t + 1);
      for (int i = 0; i < 6; ++i) {
        const std::size_t text = own() % 2;
        const Graph graph = Graph::from_text(texts[text], options);
        Call call(graph);
        for (int run = 0; run < 10; ++run) {
          const auto at = std::next(expected[text].begin(),
                                    static_cast<std::ptrdiff_t>(own() % expected[text].size()));
          const Tensor x = input(at->first);
          call.set_input(0, x);
          call.run();
          if (!same_bits(call.output(0), at->second) ||
              !same_bits(graph.run({{"x", x}})["y"], at->second))
            ++wrong;
        }
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  std::filesystem::remove_all(cache);
}
