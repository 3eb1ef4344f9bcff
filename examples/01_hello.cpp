// A graph from text, run at two lengths.

#include <cstdio>

#include <dyn/dyn.hpp>

int main() {
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    dim N in 0..1000000
    graph scale(x: f32[N], y: f32[N]) -> (z: f32[N]) {
      z = x * 2.0 + y
      return z
    }
  )");
  const dyn::Outputs three = graph.run({{"x", dyn::Tensor::from<float>({1, 2, 3}, {3})},
                                        {"y", dyn::Tensor::from<float>({10, 20, 30}, {3})}});
  const dyn::Outputs one = graph.run(
      {{"x", dyn::Tensor::from<float>({5}, {1})}, {"y", dyn::Tensor::from<float>({1}, {1})}});

  const std::span<const float> z = three["z"].data<float>();
  std::printf("%g %g %g\n", z[0], z[1], z[2]);
  return z[0] == 12 && z[1] == 24 && z[2] == 36 && one["z"].data<float>()[0] == 11 ? 0 : 1;
}
