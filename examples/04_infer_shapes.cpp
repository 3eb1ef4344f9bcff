// Output shapes before anything runs, planning ahead, and the error for a wrong shape.

#include <cstdio>
#include <string>

#include <dyn/dyn.hpp>

int main() {
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    dim N in 1..100
    dim M in 1..100
    graph join(a: f32[N, 4], b: f32[M, 4]) -> (c: f32[N + M, 4]) {
      c = concat(a, b) axis=0
      return c
    }
  )");
  const auto shapes = graph.infer_shapes({{"a", {3, 4}}, {"b", {2, 4}}});
  std::printf("%s is %s\n", shapes[0].first.c_str(), dyn::to_string(shapes[0].second).c_str());
  graph.prepare(
      {{"a", {3, 4}}, {"b", {2, 4}}});  // the first run with these shapes is now like any other

  bool refused = false;
  try {
    graph.infer_shapes({{"a", {3, 5}}, {"b", {2, 4}}});
  } catch (const dyn::Error& error) {
    refused = error.kind() == dyn::ErrorKind::user;
    std::printf("refused: %s\n", error.what());
  }
  return shapes[0].second == dyn::Shape{5, 4} && refused ? 0 : 1;
}
