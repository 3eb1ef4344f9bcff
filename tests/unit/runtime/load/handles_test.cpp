// Tensors and handles that hold nothing: empty, or moved from.

#include <utility>

#include "dyn/session.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;

namespace {

const char* const scalars = R"(dyn 1
graph g(s: f32[]) -> (y: f32[]) {
  y = exp(s)
  return y
}
)";

/// Its second result has as many rows as `mark` has elements that are not 0.
const char* const picked = R"(dyn 1
dim N
dim P
graph g(x: f32[N, 2], mark: f32[N]) -> (z: f32[N, 2], y: f32[_, 2]) {
  at = nonzero(mark) count=P
  y = gather(x, reshape(at) shape=[P]) axis=0 * 2
  z = tanh(x)
  return z, y
}
)";

const char* const kept_rows = R"(dyn 1
dim C in 1..8
dim P in 0..8
state k: f32[C, 1]
graph g(x: f32[1, 1]) -> (r: f32[C, 1]) {
  r = append(k, x) at=P
  return r
}
)";

Graph load(const char* text, const char* device = "cpu") {
  return Graph::from_text(text, uncached(1, device));
}

}  // namespace

TEST_CASE("a Tensor that was moved from is empty") {
  Tensor full = Tensor::from<float>({1, 2, 3}, {3});
  const void* memory = full.raw();
  Tensor taken = std::move(full);
  CHECK(taken.raw() == memory);
  for (const Tensor* each : {&full}) {  // NOLINT(bugprone-use-after-move): that is the test
    CHECK(each->empty());
    CHECK(each->raw() == nullptr);
    CHECK(each->size() == 0);
    CHECK(each->bytes() == 0);
    CHECK(each->shape().empty());
  }
  Tensor other = Tensor::from<std::int64_t>({7}, {1});
  other = std::move(taken);
  CHECK(other.raw() == memory);
  CHECK(other.dtype() == DType::f32);
  CHECK(taken.empty());  // NOLINT(bugprone-use-after-move)
  Tensor& same = other;
  other = std::move(same);
  CHECK(other.raw() == memory);
  CHECK(other.data<float>()[2] == 3);
}

TEST_CASE("no port takes an empty Tensor, whatever its rank") {
  for (const char* device : {"cpu", "reference"}) {
    CAPTURE(device);
    const Graph graph = load(scalars, device);
    check_error(
        ErrorKind::user, [&] { graph.run({{"s", Tensor()}}); }, "input 's' is an empty Tensor");
    Tensor one = Tensor::from<float>({1}, {});
    const Tensor taken = std::move(one);
    check_error(
        ErrorKind::user, [&] { graph.run({{"s", one}}); },  // NOLINT(bugprone-use-after-move)
        "input 's' is an empty Tensor");
    Call call(graph);
    call.set_input("s", taken);
    call.set_output("y", Tensor());
    check_error(ErrorKind::user, [&] { call.run(); }, "output 'y' is an empty Tensor");
    call.set_output("y", Tensor(DType::f32, {}));
    call.run();
    CHECK(call.output("y").data<float>()[0] == doctest::Approx(2.718281828));
  }
}

TEST_CASE("no port of a model with segments takes an empty Tensor, or memory that overlaps") {
  const Graph graph = load(picked);
  Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor mark = Tensor::from<float>({1, 0, 1}, {3});
  check_error(
      ErrorKind::user, [&] { graph.run({{"x", Tensor()}, {"mark", mark}}); },
      "input 'x' is an empty Tensor");
  Call call(graph);
  call.set_input("x", x);
  call.set_input("mark", mark);
  call.set_output("y", Tensor());
  check_error(ErrorKind::user, [&] { call.run(); }, "output 'y' is an empty Tensor");
  call.set_output("y", Tensor::view(x.mutable_data<float>().data(), {2, 2}));
  check_error(ErrorKind::user, [&] { call.run(); }, "output 'y' overlaps input 'x'");
  Tensor both(DType::f32, {3, 2});
  call.set_output("y", Tensor::view(both.mutable_data<float>().data(), {2, 2}));
  call.set_output("z", both);
  check_error(ErrorKind::user, [&] { call.run(); }, "output 'z' overlaps output 'y'");
  CHECK(x.data<float>()[0] == 1);
  call.set_output("z", Tensor(DType::f32, {3, 2}));
  call.run();
  CHECK(both.data<float>()[0] == 2);
  CHECK(both.data<float>()[3] == 12);
}

TEST_CASE("a Graph, a Call and a Session that were moved from say so") {
  Graph graph = load(scalars);
  Call call(graph);
  const Call called = std::move(call);
  // NOLINTBEGIN(bugprone-use-after-move)
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { call.set_input(0, Tensor::from<float>({1}, {})); },
           [&] { call.set_input("s", Tensor()); }, [&] { call.set_output(0, Tensor()); },
           [&] { call.run(); }, [&] { call.output(0); }, [&] { call.output("y"); }})
    check_error(ErrorKind::user, use, "this Call runs nothing: it was moved from");
  const Graph kept = std::move(graph);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { graph.run({}); }, [&] { graph.inputs(); }, [&] { graph.outputs(); },
           [&] { graph.load_report(); }, [&] { graph.infer_shapes({}); },
           [&] { graph.prepare({}); }, [&] { graph.shapes_planned(); },
           [&] { graph.kernels_compiled_since_load(); }, [&] { Call again(graph); },
           [&] { Session again(graph); }})
    check_error(ErrorKind::user, use, "this Graph has no model: it was moved from");
  CHECK(kept.run({{"s", Tensor::from<float>({0}, {})}})[0].data<float>()[0] == 1);
  Session session(load(kept_rows), {{"C", 8}});
  Session moved = std::move(session);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { session.run({}); }, [&] { session.length(); }, [&] { session.truncate(0); },
           [&] { session.reset(); }, [&] { session.bytes(); }, [&] { Call again(session); }})
    check_error(ErrorKind::user, use, "this Session has no state: it was moved from");
  // NOLINTEND(bugprone-use-after-move)
  CHECK(moved.run({{"x", Tensor::from<float>({5}, {1, 1})}})[0].data<float>()[0] == 5);
}

TEST_CASE("an output beyond the last is an error of the user's") {
  const Outputs outputs = load(scalars).run({{"s", Tensor::from<float>({0}, {})}});
  check_error(
      ErrorKind::user, [&] { (void)outputs[1]; }, "there is no output number 1; the model has 1");
}
