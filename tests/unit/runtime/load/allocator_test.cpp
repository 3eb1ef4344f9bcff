// Options::allocator: what comes from it, that all goes back, and allocators that misbehave.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;

namespace {

/// Memory of strange contents, and a book of it.
class Counting : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock(mutex_);
    if (++calls == fail_at) return nullptr;
    if (calls == throw_at) throw std::runtime_error("the host has none");
    void* const memory =
        ::operator new(bytes + offset, std::align_val_t(std::max(alignment, std::size_t{64})));
    std::memset(memory, 0xAB, bytes + offset);
    void* const given = static_cast<std::byte*>(memory) + offset;
    live_[given] = bytes;
    live_bytes += bytes;
    most_bytes = std::max(most_bytes, live_bytes);
    return given;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto known = live_.find(memory);
    if (known == live_.end() || known->second != bytes) {
      ++wrong;
      return;
    }
    live_.erase(known);
    live_bytes -= bytes;
    ::operator delete(static_cast<std::byte*>(memory) - offset,
                      std::align_val_t(std::max(alignment, std::size_t{64})));
  }
  /// Is all of this memory from here?
  bool has(const void* memory) const { return live_.contains(const_cast<void*>(memory)); }

  int calls = 0, wrong = 0, fail_at = 0, throw_at = 0;
  std::size_t live_bytes = 0, most_bytes = 0, offset = 0;

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> live_;
};

const char* const two_outputs = R"(dyn 1
weight w0: f32[64, 256] = random 1
weight w1: f32[256, 64] = random 2
dim B in 1..4096
graph two_outputs(x: f32[B, 64]) -> (y: f32[B, 64], top: f32[B, 1]) {
  h = gelu(matmul(x, w0))
  y = softmax(matmul(h, w1)) axis=-1
  return y, reduce_max(y) axes=[1]
}
)";

Options allocating(const std::shared_ptr<Allocator>& allocator) {
  Options options = uncached(2);
  options.deterministic = true;
  options.allocator = allocator;
  return options;
}

std::vector<float> run_two_outputs(const Graph& graph, std::int64_t rows) {
  const std::vector<float> x = testing::random_values(static_cast<std::size_t>(rows) * 64, 3);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {rows, 64})}});
  const auto data = outputs["y"].data<float>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("weights, memory of runs and outputs come from the allocator, and go back there") {
  const auto allocator = std::make_shared<Counting>();
  const Graph plain = Graph::from_text(two_outputs, allocating(nullptr));
  {
    const Graph graph = Graph::from_text(two_outputs, allocating(allocator));
    const std::size_t weights = allocator->live_bytes;
    CHECK(weights >= 2 * 64 * 256 * sizeof(float));
    for (const std::int64_t rows : {5, 200, 1, 900})
      CHECK(run_two_outputs(graph, rows) == run_two_outputs(plain, rows));
    const MemoryNeeded needed = graph.memory_needed({{"x", {900, 64}}});
    CHECK(allocator->most_bytes >= needed.total());
    CHECK(allocator->live_bytes >= weights + needed.intermediates);
    graph.trim();
    CHECK(allocator->live_bytes == weights);
    Call call(graph);
    call.set_input("x", Tensor(DType::f32, {7, 64}));
    call.run();
    CHECK(allocator->has(call.output("y").raw()));
    CHECK(allocator->has(call.output("top").raw()));
    const int calls = allocator->calls;
    call.run();
    CHECK(allocator->calls == calls);
  }
  CHECK(allocator->live_bytes == 0);
  CHECK(allocator->wrong == 0);
}

TEST_CASE("outputs whose size a run decides come from the allocator, too") {
  const auto allocator = std::make_shared<Counting>();
  const char* const decided = R"(dyn 1
dim T
body halve(step: i64[], go: bool[], x: f32[T]) -> (goes_on: bool[], next: f32[T], all: f32[T]) {
  next = x * 0.5
  return go, next, next + 1.0
}
dim N
dim K
dim S
graph decided(x: f32[N], go: bool[], most: i64[]) -> (places: i64[1, K], last: f32[N], all: f32[S, N]) {
  last, all = loop(most, go, x) body=halve carried=1 scanned=0 conditional=true steps=S dims=[N, N]
  return nonzero(x) count=K, last, all
}
)";
  Options options = allocating(allocator);
  {
    const Graph graph = Graph::from_text(decided, options);
    const Outputs outputs = graph.run({{"x", Tensor::from<float>({0, 4, 0, 8, 2}, {5})},
                                       {"go", Tensor::from<bool>({true}, {})},
                                       {"most", Tensor::from<std::int64_t>({3}, {})}});
    for (const Tensor& output : {outputs["places"], outputs["last"], outputs["all"]})
      CHECK(allocator->has(output.raw()));
    CHECK(outputs["places"].shape() == Shape{1, 3});
    CHECK(outputs["places"].data<std::int64_t>()[2] == 4);
    CHECK(outputs["all"].shape() == Shape{3, 5});
    CHECK(outputs["last"].data<float>()[3] == 1);
    CHECK(outputs["all"].data<float>()[13] == 2);
  }
  options = {};
  CHECK(allocator->live_bytes == 0);
  CHECK(allocator->wrong == 0);
}

TEST_CASE("outputs outlive the graph with their allocator") {
  std::weak_ptr<Counting> known;
  Tensor kept;
  {
    const auto allocator = std::make_shared<Counting>();
    known = allocator;
    const Graph graph = Graph::from_text(two_outputs, allocating(allocator));
    const std::vector<float> x(64, 1);
    kept = graph.run({{"x", Tensor::view(x, {1, 64})}})["y"];
  }
  CHECK(!known.expired());
  CHECK(kept.data<float>()[0] > 0);
  kept = Tensor();
  CHECK(known.expired());
}

TEST_CASE("an allocator without memory: each call fails once, and the graph goes on") {
  for (const bool throws : {false, true}) {
    for (int call = 1; call < 12; ++call) {
      CAPTURE(call);
      const auto allocator = std::make_shared<Counting>();
      (throws ? allocator->throw_at : allocator->fail_at) = call;
      bool failed = false;
      const auto survives = [&](const std::function<void()>& work) {
        try {
          work();
        } catch (const Error& error) {
          failed = true;
          CHECK(error.kind() == ErrorKind::device);
          const std::string words = error.what();
          CHECK(words.find("Options::allocator has no memory for") != std::string::npos);
          CHECK((words.find(": the host has none") != std::string::npos) == throws);
          work();
        }
      };
      std::vector<Graph> graphs;
      survives([&] { graphs.push_back(Graph::from_text(two_outputs, allocating(allocator))); });
      for (const std::int64_t rows : {3, 300}) survives([&] { run_two_outputs(graphs[0], rows); });
      CHECK(failed == (call <= allocator->calls));
      graphs.clear();
      CHECK(allocator->live_bytes == 0);
      CHECK(allocator->wrong == 0);
    }
  }
}

TEST_CASE("an allocator that gives misaligned memory is told so, and gets it back") {
  const auto allocator = std::make_shared<Counting>();
  allocator->offset = 8;
  check_error(
      ErrorKind::user, [&] { Graph::from_text(two_outputs, allocating(allocator)); },
      "Options::allocator gave memory at 0x", "weights", "64");
  CHECK(allocator->live_bytes == 0);
  CHECK(allocator->wrong == 0);
  allocator->offset = 0;
  const Graph graph = Graph::from_text(two_outputs, allocating(allocator));
  allocator->offset = 32;
  check_error(ErrorKind::user, [&] { run_two_outputs(graph, 10); }, "no multiple of the alignment");
  allocator->offset = 0;  // as that of the weights, which go back
  CHECK(allocator->wrong == 0);
}
