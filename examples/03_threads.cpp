// One Graph, many threads: run is const, and weights and code are shared. Each run here has one
// thread to itself.

#include <cstdio>
#include <thread>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

/// The sum over a row of `columns` ones, in a shape that only this thread uses.
float sum_of_ones(const dyn::Graph& graph, std::int64_t columns) {
  const std::vector<float> ones(static_cast<std::size_t>(columns), 1.0f);
  const dyn::Outputs outputs = graph.run({{"x", dyn::Tensor::view(ones, {1, columns})}});
  return outputs["s"].data<float>()[0];
}

}  // namespace

int main() {
  dyn::Options options;
  options.threads = 1;
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    dim B in 1..64
    dim K in 1..4096
    graph total(x: f32[B, K]) -> (s: f32[B]) {
      s = reduce_sum(x) axes=[1] keepdims=false
      return s
    }
  )",
                                                 options);

  std::vector<float> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    threads.emplace_back(
        [&, i] { sums[i] = sum_of_ones(graph, static_cast<std::int64_t>(100 * (i + 1))); });
  }
  for (std::thread& thread : threads) thread.join();

  std::printf("%g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);
  return sums[0] == 100 && sums[1] == 200 && sums[2] == 300 && sums[3] == 400 ? 0 : 1;
}
