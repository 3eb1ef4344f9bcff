// dyn-bench-calls: what a call costs in C and in C++ where its kernel has next to nothing to do: a
// graph of one operator, on 8 elements. Ways alternate; the medians of their rounds are printed, in
// nanoseconds. tests/bench/call_cost.py has Python and ONNX Runtime.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/dyn.h"
#include "dyn/dyn.hpp"

namespace {

constexpr std::string_view model = R"(dyn 1
dim N in 1..64
graph twice(x: f32[N]) -> (y: f32[N]) {
  y = x + x
  return y
}
)";
constexpr int rounds = 41, calls = 5000;
constexpr std::int64_t elements = 8;

void succeed(dyn_status* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", dyn_status_text(status));
  std::exit(1);
}

struct Way {
  const char* name;
  std::function<void()> call;
  std::vector<double> nanoseconds = {};
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void measure(std::vector<Way>& ways) {
  using Clock = std::chrono::steady_clock;
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < calls; ++i) way.call();
      const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
      way.nanoseconds.push_back(taken.count() / calls);
    }
  }
  for (Way& way : ways) std::printf("%-28s %7.0f ns\n", way.name, median(way.nanoseconds));
}

}  // namespace

int main() {
  dyn::Options options;
  options.threads = 1;
  const dyn::Graph graph = dyn::Graph::from_text(model, options);
  std::vector<float> x(elements, 1);
  const dyn::Tensor input = dyn::Tensor::view(x, {elements});
  dyn::Call call(graph);
  call.set_input("x", input);

  dyn_options* c_options = nullptr;
  dyn_graph* c_graph = nullptr;
  dyn_tensor* c_input = nullptr;
  dyn_call* c_call = nullptr;
  const std::array<std::int64_t, 1> shape{elements};
  succeed(dyn_options_create(&c_options));
  succeed(dyn_options_set_integer(c_options, "threads", 1));
  succeed(dyn_graph_from_text(model.data(), model.size(), c_options, nullptr, &c_graph));
  succeed(dyn_tensor_view_const(DYN_F32, x.data(), 1, shape.data(), &c_input));
  succeed(dyn_call_create(c_graph, &c_call));
  succeed(dyn_call_set_input(c_call, 0, c_input));
  const dyn_named_tensor named{"x", c_input};
  dyn_run_options ends{};
  ends.struct_size = sizeof ends;
  ends.has_timeout = true;
  ends.timeout_ns = INT64_MAX;

  std::vector<Way> ways{
      {"dyn::Call::run", [&] { call.run(); }},
      {"dyn::Graph::run", [&] { graph.run({{"x", input}}); }},
      {"dyn_call_run", [&] { succeed(dyn_call_run(c_call)); }},
      {"dyn_call_run_with a timeout", [&] { succeed(dyn_call_run_with(c_call, &ends)); }},
      {"dyn_graph_run", [&] {
         dyn_tensor* output = nullptr;
         succeed(dyn_graph_run(c_graph, 1, &named, 1, &output));
         dyn_tensor_release(output);
       }}};
  measure(ways);
  dyn_call_release(c_call);
  dyn_tensor_release(c_input);
  dyn_graph_release(c_graph);
  dyn_options_release(c_options);
  return 0;
}
