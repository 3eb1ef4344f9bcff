// A host that stays in charge: a run with a deadline, and one that another thread cancels. Both end
// within milliseconds, and the next run is as right as ever.

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Runs, and tells what became of it. True where the run was ended early.
bool ended_early(dyn::Call& call, const char* what, const dyn::RunOptions& options) {
  const Clock::time_point start = Clock::now();
  const char* outcome = "was whole";
  std::string why;
  try {
    call.run(options);
  } catch (const dyn::Error& error) {
    if (error.kind() != dyn::ErrorKind::cancelled) throw;
    outcome = "ended early";
    why = ": " + error.message();
  }
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  std::printf("%s: the run %s after %.1f ms%s\n", what, outcome, took.count(), why.c_str());
  return !why.empty();
}

}  // namespace

int main() {
  dyn::Options options;
  options.threads = 1;
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    weight w0: f32[1024, 1024] = random 1
    weight w1: f32[1024, 1024] = random 2
    weight w2: f32[1024, 1024] = random 3
    dim B in 1..65536
    graph deep(x: f32[B, 1024]) -> (y: f32[B, 1024]) {
      a = relu(matmul(x, w0))
      b = relu(matmul(a, w1))
      return tanh(matmul(b, w2))
    }
  )",
                                                 options);
  const std::int64_t rows = 10240;  // half a second of one thread
  const std::vector<float> x(static_cast<std::size_t>(rows) * 1024, 0.01f);
  dyn::Call call(graph);
  call.set_input("x", dyn::Tensor::view(x, {rows, 1024}));
  ended_early(call, "alone", {});
  const float expected = call.output("y").data<float>()[0];

  bool right =
      ended_early(call, "a deadline in 5 ms", {.deadline = Clock::now() + milliseconds(5)});

  const dyn::Cancellation cancellation;
  std::thread other([cancellation] {
    std::this_thread::sleep_for(milliseconds(20));
    cancellation.cancel();
  });
  right = ended_early(call, "cancelled after 20 ms", {.cancellation = cancellation}) && right;
  other.join();

  right = !ended_early(call, "the next one", {}) && right;
  return right && call.output("y").data<float>()[0] == expected ? 0 : 1;
}
