// A Call: inputs and outputs in memory of the caller, bound once. Runs at a shape seen before
// allocate nothing.

#include <cmath>
#include <cstdio>
#include <vector>

#include <dyn/dyn.hpp>

int main() {
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    dim B in 1..64
    dim K in 1..4096
    graph normalize(x: f32[B, K]) -> (p: f32[B, K]) {
      p = softmax(x) axis=-1
      return p
    }
  )");
  const std::int64_t rows = 2, columns = 5;
  std::vector<float> x = {1, 2, 3, 4, 5, 0, 0, 0, 0, 0}, p(x.size());

  dyn::Call call(graph);
  call.set_input("x", dyn::Tensor::view(x, {rows, columns}));
  call.set_output("p", dyn::Tensor::view(p, {rows, columns}));
  for (int step = 0; step < 100; ++step) {
    x[0] = static_cast<float>(step % 3);  // the bound memory is read anew by each run
    call.run();
  }

  float sum = 0;
  for (std::int64_t k = 0; k < columns; ++k) sum += p[static_cast<std::size_t>(k)];
  std::printf("first row sums to %g, second is %g everywhere\n", sum, p[5]);
  return std::abs(sum - 1) < 1e-5f && std::abs(p[9] - 0.2f) < 1e-6f ? 0 : 1;
}
