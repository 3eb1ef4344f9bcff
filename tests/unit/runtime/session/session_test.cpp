// dyn::Session: the state that runs keep, forget, refuse, and leave alone.

#include <atomic>
#include <limits>
#include <thread>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;

namespace {

/// Returns all tokens so far, and the running sums of a table's rows that they choose.
const char* const memory = R"(dyn 1
dim B in 1..4 hint 1
dim S in 0..16
dim P in 0..16
dim C in 1..16 hint 8
state tokens: i64[B, C]
state sums: f32[B, C, 3]
weight table: f32[10, 3] = random 7
graph memory(ids: i64[B, S]) -> (seen: i64[B, _], rows: f32[B, _, 3], whole: f32[B, C, 3], all: i64[B, C]) {
  kept = append(tokens, ids) at=P axis=1
  s = append(sums, gather(table, ids) axis=0) at=P
  return slice(kept) axes=[1] starts=[0] ends=[P + S], slice(s) axes=[1] starts=[0] ends=[P + S], s * 1.0, kept
}
)";

Tensor ids(std::initializer_list<std::int64_t> values, std::int64_t batch = 1) {
  return Tensor::from(values, {batch, static_cast<std::int64_t>(values.size()) / batch});
}

std::vector<std::int64_t> seen(const Outputs& outputs) {
  const auto data = outputs["seen"].data<std::int64_t>();
  return {data.begin(), data.end()};
}

using Tokens = std::vector<std::int64_t>;

}  // namespace

TEST_CASE(
    "a session keeps what its runs append, on the CPU, the reference and beside an emulated GPU") {
  for (const char* device : {"cpu", "reference", "emulator"}) {
    CAPTURE(std::string(device));
    const Graph graph = Graph::from_text(memory, uncached(2, device));
    Session session(graph);
    CHECK(session.length() == 0);
    CHECK(seen(session.run({{"ids", ids({4, 1, 3})}})) == Tokens{4, 1, 3});
    CHECK(session.length() == 3);
    CHECK(seen(session.run({{"ids", ids({9})}})) == Tokens{4, 1, 3, 9});
    CHECK(seen(session.run({{"ids", Tensor(DType::i64, {1, 0})}})) == Tokens{4, 1, 3, 9});
    CHECK(session.length() == 4);
    session.truncate(2);
    CHECK(session.length() == 2);
    const Outputs after = session.run({{"ids", ids({5})}});
    CHECK(seen(after) == Tokens{4, 1, 5});
    // Truncated positions are as if they had never been written: zero.
    const auto whole = after["whole"].data<float>();
    for (std::size_t i = 3 * 3; i < whole.size(); ++i) CHECK(whole[i] == 0);
    CHECK(whole[0] == after["rows"].data<float>()[0]);
    session.reset();
    CHECK(session.length() == 0);
    CHECK(seen(session.run({{"ids", ids({7})}})) == Tokens{7});
    const bool on_gpu = std::string(device) == "emulator";
    CHECK(graph.kernels_compiled_since_load() <= (on_gpu ? graph.load_report().kernels : 0));
  }
}

TEST_CASE("batches, and the dims that a session is made for") {
  const Graph graph = Graph::from_text(memory, uncached());
  Session session(graph, {{"B", 2}, {"C", 5}});
  CHECK(session.bytes() >= 2 * 5 * (8 + 3 * 4));
  CHECK(seen(session.run({{"ids", ids({1, 2, 3, 4}, 2)}})) == Tokens{1, 2, 3, 4});
  CHECK(seen(session.run({{"ids", ids({5, 6}, 2)}})) == Tokens{1, 2, 5, 3, 4, 6});
  check_error(
      ErrorKind::user, [&] { session.run({{"ids", ids({1})}}); },
      "dim B is 2 in this session, but 1 in input 'ids' (axis 0)");
  check_error(ErrorKind::user, [&] { Session(graph, {{"B", 9}}); }, "dim B is 9", "1..4");
  check_error(ErrorKind::user, [&] { Session(graph, {{"S", 2}}); }, "no dim 'S' to choose", "B, C");
  check_error(ErrorKind::user, [&] { Session(graph, {{"P", 2}}); }, "no dim 'P' to choose");
  const Graph no_hint = Graph::from_text(
      "dyn 1\ndim C in 1..8\ndim P in 0..8\nstate k: f32[C, 1]\n"
      "graph g(x: f32[1, 1]) -> (r: f32[C, 1]) {\nreturn append(k, x) at=P\n}\n",
      uncached());
  check_error(ErrorKind::user, [&] { Session session(no_hint); }, "dim C", "no value and no hint");
}

TEST_CASE("no room left: the error says so, and the session is as before") {
  const Graph graph = Graph::from_text(memory, uncached());
  Session session(graph, {{"C", 4}});
  session.run({{"ids", ids({1, 2, 3})}});
  check_error(
      ErrorKind::user, [&] { session.run({{"ids", ids({4, 5})}}); },
      "the length after appending is S + P = 5", "the capacity of", "C = 4");
  CHECK(session.length() == 3);
  CHECK(seen(session.run({{"ids", ids({6})}})) == Tokens{1, 2, 3, 6});
  check_error(ErrorKind::user, [&] { session.run({{"ids", ids({7})}}); }, "S + P = 5");
  check_error(ErrorKind::user, [&] { session.truncate(5); }, "length 4", "truncated to 5");
  check_error(ErrorKind::user, [&] { session.truncate(-1); }, "truncated to -1");
}

TEST_CASE("a run that fails on the way leaves no trace") {
  const Graph graph = Graph::from_text(memory, uncached());
  Session session(graph);
  session.run({{"ids", ids({1, 2})}});
  check_error(
      ErrorKind::user, [&] { session.run({{"ids", ids({3, 99})}}); }, "index is out of range");
  CHECK(session.length() == 2);
  const Outputs after = session.run({{"ids", Tensor(DType::i64, {1, 0})}});
  const auto whole = after["whole"].data<float>();
  for (std::size_t i = 2 * 3; i < whole.size(); ++i) CHECK(whole[i] == 0);
  const auto all = after["all"].data<std::int64_t>();
  for (std::size_t i = 2; i < all.size(); ++i) CHECK(all[i] == 0);
}

TEST_CASE("a graph with state runs in a session only") {
  const Graph graph = Graph::from_text(memory, uncached());
  check_error(
      ErrorKind::user, [&] { graph.run({{"ids", ids({1})}}); }, "'memory' has state",
      "dyn::Session");
  check_error(ErrorKind::user, [&] { graph.infer_shapes({{"ids", {1, 1}}}); }, "dyn::Session");
  Call without(graph);
  without.set_input("ids", ids({1}));
  check_error(ErrorKind::user, [&] { without.run(); }, "dyn::Session");

  Session session(graph);
  Call call(session);
  Tensor next = ids({8});
  call.set_input("ids", next);
  for (std::int64_t token = 1; token <= 3; ++token) {
    next.mutable_data<std::int64_t>()[0] = token;
    call.run();
  }
  const auto all = call.output("seen").data<std::int64_t>();
  CHECK(Tokens(all.begin(), all.end()) == Tokens{1, 2, 3});
  CHECK(session.length() == 3);
}

TEST_CASE("states at fixed places are overwritten, and the length stays 0") {
  const Graph graph = Graph::from_text(
      "dyn 1\nstate last: f32[2, 2]\n"
      "graph g(x: f32[1, 2]) -> (r: f32[2, 2]) {\nreturn append(last, x) at=1\n}\n",
      uncached());
  Session session(graph);
  session.run({{"x", Tensor::from({1.f, 2.f}, {1, 2})}});
  const Outputs again = session.run({{"x", Tensor::from({3.f, 4.f}, {1, 2})}});
  const auto r = again["r"].data<float>();
  CHECK(std::vector<float>(r.begin(), r.end()) == std::vector<float>{0, 0, 3, 4});
  CHECK(session.length() == 0);
  session.reset();
}

TEST_CASE("sessions of one graph run at once; one session runs once at a time") {
  const Graph graph = Graph::from_text(memory, uncached());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        Session session(graph);
        Tokens expected;
        for (std::int64_t step = 0; step < 8; ++step) {
          const std::int64_t token = (t * 3 + step) % 10;
          expected.push_back(token);
          if (seen(session.run({{"ids", ids({token})}})) != expected) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);

  // Each run either appends or is refused.
  Session shared(graph, {{"C", 16}});
  std::atomic<int> appended{0}, refused{0};
  threads.clear();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 4; ++i) {
        try {
          shared.run({{"ids", ids({1})}});
          ++appended;
        } catch (const Error& error) {
          if (std::string(error.what()).find("in use by another thread") != std::string::npos)
            ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(appended + refused == 16);
  CHECK(shared.length() == appended);
}
