// A program of an embedder, built against an installed dyn.

#include <cstdio>
#include <cstring>

#include <dyn/dyn.hpp>

int main() {
  try {
    dyn::Graph::from_text("dyn 1\nnonsense");
    return 1;
  } catch (const dyn::Error& error) {
    if (error.kind() != dyn::ErrorKind::model) return 2;
  }
  const dyn::Graph graph = dyn::Graph::from_text(
      "dyn 1\ndim N in 0..10\n"
      "graph twice(x: f32[N]) -> (y: f32[N]) {\n  y = x + x\n  return y\n}\n");
  const dyn::Outputs outputs = graph.run({{"x", dyn::Tensor::from<float>({1, 2}, {2})}});
  std::printf("dyn %s: %g\n", dyn::version(), outputs["y"].data<float>()[1]);
  return outputs["y"].data<float>()[1] == 4 && std::strlen(dyn::version()) > 0 ? 0 : 3;
}
