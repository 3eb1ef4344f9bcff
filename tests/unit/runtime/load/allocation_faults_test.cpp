// One allocation after the other fails, while a model is loaded and run: each is an error that says
// so, and whatever comes after it works.

// A sanitizer brings an allocator of its own.
#ifndef DYN_SANITIZED

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;

namespace {

struct FaultyModel {
  const char* name;
  const char* text;
  Shape shape;
};

const FaultyModel faulty_models[] = {
    {"element by element",
     R"(dyn 1
dim N in 0..64
weight b: f32[8] = random 1
graph g(x: f32[N, 8]) -> (y: f32[N, 8]) {
  y = tanh(x + b) * 0.5
  return y
}
)",
     {5, 8}},
    {"products",
     R"(dyn 1
dim N in 0..64
weight w: f32[24, 40] = random 1
weight v: f32[40, 24] = random 2
graph g(x: f32[N, 24]) -> (y: f32[N, 24]) {
  y = softmax(matmul(relu(matmul(x, w)), v)) axis=-1
  return y
}
)",
     {3, 24}},
    {"sizes that data decide",
     R"(dyn 1
dim N
dim P
graph g(x: f32[N]) -> (at: i64[1, _], y: f32[N]) {
  at = nonzero(relu(x)) count=P
  y = neg(x)
  return at, y
}
)",
     {9}},
    {"a loop",
     R"(dyn 1
dim T

body step(i: i64[], go: bool[], v: f32[T], x: f32[T]) -> (goes_on: bool[], w: f32[T], row: f32[T]) {
  w = v * 0.5 + x
  goes_on = less(i, 4)
  return goes_on, w, w
}

dim N
dim K

graph g(x: f32[N]) -> (last: f32[N], all: f32[K, N]) {
  last, all = loop(20, true, x, x) body=step carried=1 conditional=true steps=K dims=[N, N]
  return last, all
}
)",
     {7}},
};

std::size_t mapping_count() {
  std::ifstream file("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

/// Loads and runs; the allocation with this number fails meanwhile.
class Attempt {
 public:
  Attempt(const FaultyModel& model, const Options& options, std::int64_t number) {
    const std::vector<float> x =
        testing::random_values(static_cast<std::size_t>(element_count(model.shape)), 7);
    const NamedTensors inputs{{"x", Tensor::view(x.data(), model.shape)}};
    std::optional<Outputs> outputs;
    testing::fail_allocation(number);
    try {
      const Graph graph = Graph::from_text(model.text, options);
      outputs = graph.run(inputs);
      failed = testing::stop_failing();
    } catch (const Error& thrown) {
      failed = testing::stop_failing();
      error = thrown.what();
    }
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i)
      bytes.append(static_cast<const char*>((*outputs)[i].raw()), (*outputs)[i].bytes());
  }

  bool failed = false;       ///< there was such an allocation
  std::string error, bytes;  ///< of all results
};

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("an allocation that fails is an error, and nothing else") {
  const testing::TemporaryFolder folder;
  Options options = testing::uncached(2);
  options.cache_dir = folder.string();
  for (const FaultyModel& model : faulty_models) {
    CAPTURE(std::string(model.name));
    const std::string expected = Attempt(model, options, never).bytes;
    REQUIRE_FALSE(expected.empty());
    // It keeps the store of code, so that an attempt finds what those before it have left there.
    const Graph stays = Graph::from_text(faulty_models[0].text, options);
    const std::size_t mappings = mapping_count();
    testing::Sweep sweep(10);
    int errors = 0;
    bool failed = true;
    for (std::int64_t number = 0; failed; ++number) {
      if (!sweep.takes()) continue;
      CAPTURE(number);
      const Attempt attempt(model, options, number);
      failed = attempt.failed;
      if (attempt.error.empty()) {
        CHECK(attempt.bytes == expected);  // it was done without, or there are no more
      } else {
        ++errors;
        CAPTURE(attempt.error);
        CHECK(attempt.error.find("no memory") != std::string::npos);
        CHECK(Attempt(model, options, never).bytes == expected);
      }
    }
    CHECK(errors > 0);
    CHECK(Attempt(model, options, never).bytes == expected);
    // Threads may have come, with arenas of their own; a leak would be one for each attempt.
    CHECK(mapping_count() <= mappings + 40);
  }
}

#endif
