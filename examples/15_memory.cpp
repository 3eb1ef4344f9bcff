// A host that stays in charge of memory: what a run will need is known before it, a budget refuses
// what does not fit before anything is allocated, and what a long run left is given back.

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

float run(const dyn::Graph& graph, std::int64_t rows) {
  const std::vector<float> x(static_cast<std::size_t>(rows) * 256, 0.5f);
  return graph.run({{"x", dyn::Tensor::view(x, {rows, 256})}})["y"].data<float>()[0];
}

}  // namespace

int main() {
  dyn::Options options;
  options.memory_budget = 200'000'000;
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    weight w0: f32[256, 1024] = random 1
    weight w1: f32[1024, 256] = random 2
    dim B in 1..1048576
    graph layers(x: f32[B, 256]) -> (y: f32[B, 256]) {
      h = gelu(matmul(x, w0))
      return softmax(matmul(h, w1)) axis=-1
    }
  )",
                                                 options);
  const float expected = run(graph, 64);
  const double first = resident_megabytes();

  const dyn::MemoryNeeded needed = graph.memory_needed({{"x", {100'000, 256}}});
  std::printf("100000 rows need %.0f MB of 200\n", static_cast<double>(needed.total()) / 1e6);
  bool refused = false;
  try {
    run(graph, 100'000);
  } catch (const dyn::Error& error) {
    refused = error.kind() == dyn::ErrorKind::device;
    std::printf("%s\n", error.what());
  }

  run(graph, 30'000);
  const double most = resident_megabytes();
  graph.trim();
  const double last = resident_megabytes();
  std::printf("resident: %.0f MB at first, %.0f after a long run, %.0f after trim()\n", first, most,
              last);
  const bool given_back = most > first + 100 && last < 1.05 * first;
  return refused && given_back && run(graph, 64) == expected ? 0 : 1;
}
