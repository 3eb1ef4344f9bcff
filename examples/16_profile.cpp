// A host that looks into a run: which groups of operators took how long, by how many threads, in
// how much memory. `16_profile TRACE.json` writes the run for https://ui.perfetto.dev, too.

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <dyn/dyn.hpp>

int main(int argc, char** argv) {
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    weight w0: f32[256, 1024] = random 1
    weight w1: f32[1024, 256] = random 2
    dim B in 1..4096
    graph layers(x: f32[B, 256]) -> (y: f32[B, 256]) {
      h = gelu(matmul(x, w0))
      return softmax(matmul(h, w1)) axis=-1
    }
  )");
  const std::vector<float> x(200 * 256, 0.5f);
  dyn::Call call(graph);
  call.set_input("x", dyn::Tensor::view(x, {200, 256}));
  call.run();  // plans for this shape
  dyn::Profile profile;
  profile.label = "200 rows";
  call.run(profile);

  std::int64_t in_groups = 0;
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const dyn::Profile::Event& event = profile.events[i];
    const dyn::Profile::Group& group = profile.groups[event.group];
    std::set<int> threads;
    for (const dyn::Profile::Slice& slice : profile.slices)
      if (slice.event == i) threads.insert(slice.thread);
    const auto nanoseconds = static_cast<double>(event.end_ns - event.start_ns);
    std::printf("%-32s %8.1f us, %6.1f GFLOP/s, %zu of at most %d threads\n",
                group.operators.c_str(), nanoseconds / 1e3, group.flops / nanoseconds,
                threads.size(), group.threads);
    in_groups += event.end_ns - event.start_ns;
  }
  std::printf("%zu bytes of intermediate tensors\n", profile.arena_bytes);
  if (argc > 1) std::ofstream(argv[1]) << dyn::chrome_trace({&profile, 1});
  const bool adds_up = in_groups > 0 && in_groups <= profile.end_ns - profile.start_ns;
  return adds_up && !profile.slices.empty() ? 0 : 1;
}
