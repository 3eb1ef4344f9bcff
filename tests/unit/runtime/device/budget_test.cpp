// The limit of the device memory of all runs of a graph: what it counts, who waits for whom, and
// that nobody waits for ever.

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include <fmt/format.h>

#include "src/runtime/device/open_device.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/session/session_state.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

namespace {

using Dims = std::map<std::string, std::int64_t>;

std::size_t needed(const Model& model, const Dims& dims) {
  const auto& executable = dynamic_cast<const PlannedExecutable&>(model.executable());
  return DeviceNeeds(*model.plan(model.bind_dims(dims)), executable.wiring()).sum();
}

/// A model on a device, whose runs may hold `limit` bytes.
struct Limited {
  explicit Limited(std::size_t limit, const char* text = chain, std::uint64_t mask = all_groups)
      : text(text), model(load(limit, mask)) {}

  ModelPtr load(std::size_t limit, std::uint64_t mask) const {
    Options options;
    options.device_memory = limit;
    return load_model(text, fake_gpu(with_mask(device, mask)), options);
  }
  std::size_t most() const { return device->most_bytes_of_runs(); }

  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  const char* text;
  ModelPtr model;
};

std::size_t chain_needs(std::int64_t length) { return needed(*Limited(0).model, {{"S", length}}); }

/// A call of `chain` that leaves its runs on a stream: inputs and output lie on the device.
class LeftCall {
 public:
  LeftCall(const Limited& limited, const std::shared_ptr<rkernel::Stream>& stream, unsigned seed)
      : open_(limited.device), call_(limited.model), expected_(load_reference(chain)) {
    call_.set_stream(stream);
    call_.set_output(0, limited.device);
    random_.seed(seed);
    model_ = limited.model;
  }
  void run(std::int64_t length) {
    const auto inputs = random_inputs(*model_, {{"S", length}}, random_);
    call_.set_input(0, open_.upload(inputs[0]));
    set_inputs(expected_, inputs);
    call_.run();
    expected_.run();
  }
  bool is_right() {
    call_.wait();
    const Tensor got = open_.download(call_.output(0));
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
      if (!(std::abs(got.data<float>()[i] - expected_.output(0).data<float>()[i]) < 1e-4f))
        return false;
    }
    return true;
  }
  CallState& call() { return call_; }

 private:
  OpenDevice open_;
  ModelPtr model_;
  CallState call_, expected_;
  std::mt19937 random_;
};

/// How often threads with calls of their own, at random shapes, were wrong or saw another error
/// than `allowed`.
int wrong_of_threads(const Limited& limited, int threads, int rounds, const char* allowed) {
  std::atomic<int> wrong{0};
  const ModelPtr plain = load_reference(limited.text);
  std::vector<std::jthread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::mt19937 random(device_seed() + static_cast<unsigned>(t));
      CallState call(limited.model), expected(plain);
      for (int i = 0; i < rounds; ++i) {
        const auto inputs = random_inputs(
            *limited.model, {{"S", static_cast<std::int64_t>(random() % 65)}}, random);
        set_inputs(call, inputs);
        set_inputs(expected, inputs);
        expected.run();
        try {
          call.run();
          if (!(difference(*limited.model, call, expected) < 1e-4)) ++wrong;
        } catch (const Error& error) {
          if (allowed == nullptr || error.message().find(allowed) == std::string::npos) ++wrong;
        }
      }
    });
  }
  workers.clear();
  return wrong;
}

/// The ways in which a run of 40 rows fails behind one of 2 that left: there is no memory for it,
/// also where the left run's was given up for it; a launch is refused; or it needs more than the
/// limit.
enum class Fault { Memory, MemoryGivenUp, Launch, Limit };

/// A call on a stream, of rows of a table.
struct RowsCall {
  explicit RowsCall(const Limited& limited)
      : device(limited.device), open(device), call(limited.model) {
    call.set_stream(device->make_stream());
  }
  void bind(std::int64_t count, std::int64_t first) {
    Tensor ids(DType::i64, {count});
    ids.mutable_data<std::int64_t>()[0] = first;
    call.set_input(0, open.upload(ids));
    call.set_output(0, open.upload(Tensor(DType::f32, {count, 3})));
  }
  void run(std::int64_t count, std::int64_t first) {
    bind(count, first);
    call.run();
  }

  std::shared_ptr<FakeDevice> device;
  OpenDevice open;
  CallState call;
};

void check_left_run_is_told(Fault fault, std::size_t limit, bool runs_again) {
  CAPTURE(static_cast<int>(fault));
  CAPTURE(limit);
  CAPTURE(runs_again);
  const Limited limited(limit, gathered);
  FakeDevice& device = *limited.device;
  RowsCall first(limited), other(limited);
  first.run(2, 7);
  if (fault == Fault::MemoryGivenUp) other.run(20, 1);
  other.call.wait();
  first.bind(40, 1);
  const std::size_t memory = device.memory_bytes;
  if (fault == Fault::Launch) device.fail_launch = 1;
  if (fault == Fault::Memory || fault == Fault::MemoryGivenUp) device.memory_bytes = 0;
  check_error(
      ErrorKind::device, [&] { first.call.run(); },
      fault == Fault::Launch  ? "launching 'gather_0'"
      : fault == Fault::Limit ? "all runs of the graph together may hold"
                              : "no device memory");
  device.memory_bytes = memory;
  CHECK(first.call.in_flight());
  if (runs_again) first.run(3, 1);
  check_error(ErrorKind::user, [&] { first.call.wait(); }, "an index is out of range", "gather_0");
  first.run(2, 6);
  first.call.wait();
}

}  // namespace

TEST_CASE("device memory: threads at random shapes stay below the limit, and all are right") {
  const std::size_t largest = chain_needs(64);
  for (const std::size_t limit : {largest, largest + largest / 2, 3 * largest}) {
    for (const std::uint64_t mask : {std::uint64_t{0b101}, all_groups}) {
      CAPTURE(limit);
      CAPTURE(mask);
      const Limited limited(limit, chain, mask);
      CHECK(wrong_of_threads(limited, 6, testing::test_rounds(40), nullptr) == 0);
      CHECK(limited.most() <= limit);
      CHECK(limited.most() > chain_needs(1));
    }
  }
}

TEST_CASE("device memory: a plan that needs more than the limit is an error before it runs") {
  const std::size_t limit = chain_needs(64) - 1;
  Limited limited(limit);
  std::mt19937 random(device_seed());
  CallState call(limited.model);
  set_inputs(call, random_inputs(*limited.model, {{"S", 64}}, random));
  const FakeCounts before = limited.device->counts();
  check_error(
      ErrorKind::device, [&] { call.run(); },
      fmt::format("needs {} bytes of the memory of fake device", limit + 1),
      fmt::format("together may hold {} (Options::device_memory, --device-memory)", limit));
  CHECK(limited.device->counts().allocations == before.allocations);
  CHECK(limited.device->counts().uploads == before.uploads);
  set_inputs(call, random_inputs(*limited.model, {{"S", 40}}, random));
  call.run();
  CHECK(limited.most() <= limit);
}

TEST_CASE("device memory: a run that grows takes no quarter more, and just fits") {
  Limited limited(chain_needs(64));
  std::mt19937 random(device_seed());
  CallState call(limited.model), expected(load_reference(chain));
  for (const std::int64_t length : {5, 40, 64, 1, 64}) {
    const auto inputs = random_inputs(*limited.model, {{"S", length}}, random);
    set_inputs(call, inputs);
    set_inputs(expected, inputs);
    call.run();
    expected.run();
    CHECK(difference(*limited.model, call, expected) < 1e-4);
  }
  CHECK(limited.most() == chain_needs(64));
}

TEST_CASE("device memory: callers are served in the order in which they came") {
  DeviceBudget budget(100);
  DeviceBudget::Share first(&budget), second(&budget), third(&budget), fourth(&budget);
  CHECK(first.grow_to(80));
  CHECK(fourth.grow_to(10));
  std::atomic<int> served{0};
  std::atomic<int> second_at{0}, third_at{0};
  std::jthread one([&] {
    second.wait_for(90);
    second_at = ++served;
    second.shrink_to(0);
  });
  while (!budget.awaited()) std::this_thread::yield();
  std::jthread two([&] {
    third.wait_for(5);  // there would be room
    third_at = ++served;
  });
  CHECK_FALSE(fourth.grow_to(11));  // nobody overtakes
  CHECK(fourth.grow_to(10));        // but what one has it keeps
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(served == 0);
  first.shrink_to(0);
  one.join();
  two.join();
  CHECK(second_at == 1);
  CHECK(third_at == 2);
  CHECK(budget.used() == 15);
}

TEST_CASE("device memory: one caller that never stops does not starve another") {
  Limited limited(chain_needs(64));
  std::atomic<bool> stop{false};
  std::atomic<int> runs{0};
  std::jthread busy([&] {
    std::mt19937 random(device_seed());
    CallState call(limited.model);
    set_inputs(call, random_inputs(*limited.model, {{"S", 20}}, random));
    while (!stop) {
      call.run();
      ++runs;
    }
  });
  std::mt19937 random(device_seed() + 1);
  CallState call(limited.model);
  for (int i = 0; i < 20; ++i) {
    while (runs < 3 * i) std::this_thread::yield();
    set_inputs(call, random_inputs(*limited.model, {{"S", 64 - i}}, random));
    call.run();
  }
  stop = true;
  busy.join();
  CHECK(limited.most() <= chain_needs(64));
}

TEST_CASE("device memory: calls left on one stream, or on two, by one thread wait for its work") {
  for (const bool two_streams : {false, true}) {
    Limited limited(chain_needs(64));
    const std::shared_ptr<rkernel::Stream> stream = limited.device->make_stream(),
                                           other = limited.device->make_stream();
    std::deque<LeftCall> calls;
    for (unsigned i = 0; i < 4; ++i)
      calls.emplace_back(limited, two_streams && i % 2 == 1 ? other : stream, device_seed() + i);
    for (LeftCall& call : calls) call.run(60);
    CHECK(limited.device->counts().mark_waits >= 3);
    calls[0].run(64);
    for (LeftCall& call : calls) CHECK(call.is_right());
    calls[2].run(3);
    calls[3].run(3);  // both fit
    CHECK(calls[2].is_right());
    CHECK(calls[3].is_right());
  }
}

TEST_CASE("device memory: statuses of a run that another one ended are told by its own call") {
  const std::size_t limit = needed(*Limited(0, gathered).model, {{"S", 2}});
  Limited limited(limit, gathered);
  OpenDevice open(limited.device);
  const Tensor good = open.upload(Tensor::from<std::int64_t>({1, 6}, {2})),
               bad = open.upload(Tensor::from<std::int64_t>({1, 7}, {2}));
  for (const bool runs_again : {false, true}) {
    CallState first(limited.model), second(limited.model);
    for (CallState* call : {&first, &second}) {
      call->set_stream(limited.device->make_stream());
      call->set_output(0, limited.device);
    }
    first.set_input(0, bad);
    second.set_input(0, good);
    first.run();
    second.run();
    CHECK(limited.most() <= limit);
    if (runs_again) {
      first.set_input(0, good);
      first.run();
    }
    check_error(ErrorKind::user, [&] { first.wait(); }, "an index is out of range", "gather_0");
    second.wait();
    first.set_input(0, good);
    first.run();
    first.wait();
  }
}

TEST_CASE("what a left run reports is told though the next run of its call fails") {
  const auto needs = [](std::int64_t count) {
    return needed(*Limited(0, gathered).model, {{"S", count}});
  };
  for (const bool runs_again : {false, true}) {
    for (const std::size_t limit : {std::size_t{0}, 2 * needs(40)}) {
      check_left_run_is_told(Fault::Memory, limit, runs_again);
      check_left_run_is_told(Fault::Launch, limit, runs_again);
    }
    check_left_run_is_told(Fault::Limit, needs(40) - 1, runs_again);
    check_left_run_is_told(Fault::MemoryGivenUp, needs(2) + needs(20), runs_again);
  }
}

TEST_CASE("device memory: what a left run's work fails with is told by its own call") {
  Limited limited(chain_needs(64));
  LeftCall first(limited, limited.device->make_stream(), 1),
      second(limited, limited.device->make_stream(), 2);
  first.run(64);
  limited.device->fail_mark = 1;
  second.run(64);
  CHECK(second.is_right());
  check_error(ErrorKind::device, [&] { first.call().wait(); }, "asked to fail");
  first.run(60);
  CHECK(first.is_right());
}

TEST_CASE("device memory: calls that end with runs in flight give their memory back") {
  Limited limited(chain_needs(64));
  const std::shared_ptr<rkernel::Stream> stream = limited.device->make_stream();
  for (unsigned i = 0; i < 3; ++i) {
    LeftCall call(limited, stream, i);
    call.run(64);
    if (i == 1) limited.device->fail_wait = 1;
  }
  LeftCall last(limited, stream, 7);
  last.run(64);
  CHECK(last.is_right());
}

TEST_CASE("device memory: callers with streams and callers without, under a limit of one run") {
  Limited limited(chain_needs(64));
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const std::shared_ptr<rkernel::Stream> stream = limited.device->make_stream();
        std::mt19937 random(device_seed() + t);
        LeftCall call(limited, stream, t), other(limited, stream, t + 50);
        for (int i = 0; i < testing::test_rounds(20); ++i) {
          call.run(1 + static_cast<std::int64_t>(random() % 64));
          other.run(1 + static_cast<std::int64_t>(random() % 64));
          if (!call.is_right() || !other.is_right()) ++wrong;
        }
      });
    }
    wrong += wrong_of_threads(limited, 3, testing::test_rounds(20), nullptr);
  }
  CHECK(wrong == 0);
  CHECK(limited.most() <= chain_needs(64));
}

TEST_CASE("device memory: allocations that fail under a limit give their share back") {
  Limited limited(2 * chain_needs(64));
  std::atomic<bool> stop{false};
  std::jthread breaker([&] {
    while (!stop) {
      limited.device->fail_next_allocation();
      std::this_thread::yield();
    }
  });
  CHECK(wrong_of_threads(limited, 3, testing::test_rounds(30), "no device memory") == 0);
  stop = true;
  breaker.join();
  limited.device->fail_allocation = 0;
  CHECK(wrong_of_threads(limited, 3, testing::test_rounds(10), nullptr) == 0);
  CHECK(limited.most() <= 2 * chain_needs(64));
}

TEST_CASE("device memory: a run that got none keeps no room for it") {
  Limited limited(chain_needs(64));
  std::mt19937 random(device_seed());
  CallState call(limited.model);
  set_inputs(call, random_inputs(*limited.model, {{"S", 64}}, random));
  RunPool& pool = dynamic_cast<const PlannedExecutable&>(limited.model->executable()).runs();
  limited.device->fail_allocation = 1;
  check_error(ErrorKind::device, [&] { call.run(); }, "no device memory");
  Run* const failed = pool.take(nullptr);  // nobody can take from it what it holds
  call.run();
  pool.give_back(failed);
  CHECK(limited.most() == chain_needs(64));
}

TEST_CASE("device memory: a session's runs under a limit that just holds the longest") {
  const char* const sums = R"(dyn 1
dim S in 1..8
dim P in 0..16
dim C in 1..16 hint 16
state kept: f32[C, 3]
weight w: f32[3, 3] = random 4
graph g(x: f32[S, 3]) -> (y: f32[S, 3]) {
  h = matmul(x, w)
  k = append(kept, h) at=P
  all = slice(k) axes=[0] starts=[0] ends=[P + S]
  y = h + reduce_sum(exp(all)) axes=[0]
  return y
}
)";
  const Limited free(0, sums);
  std::vector<std::size_t> needs;
  for (std::int64_t length = 0; length < 16; length += 2)
    needs.push_back(needed(*free.model, {{"S", 2}, {"P", length}}));
  const std::size_t limit = *std::max_element(needs.begin(), needs.end());
  Limited limited(limit, sums);
  const auto session = std::make_shared<SessionState>(limited.model, Dims{}),
             unlimited = std::make_shared<SessionState>(free.model, Dims{});
  CallState call(session), expected(unlimited);
  std::mt19937 random(device_seed());
  for (int step = 0; step < 8; ++step) {
    Tensor x(DType::f32, {2, 3});
    for (float& value : x.mutable_data<float>())
      value = static_cast<float>(random() % 200) / 100 - 1;
    call.set_input(0, x);
    expected.set_input(0, x);
    call.run();
    expected.run();
    CHECK(difference(*limited.model, call, expected) == 0);
  }
  CHECK(limited.most() <= limit);
}

TEST_CASE("device memory: the parts of a graph whose run decides sizes share one limit") {
  const char* const picked = R"(dyn 1
dim N
dim P
weight w: f32[2, 2] = random 3
graph picked(x: f32[N, 2], mark: f32[N]) -> (y: f32[_, 2]) {
  h = matmul(matmul(x, w), w)
  at = nonzero(mark) count=P
  y = matmul(gather(h, reshape(at) shape=[P]) axis=0, w)
  return y
}
)";
  const auto run = [&](std::size_t limit) {
    Limited limited(limit, picked);
    CallState call(limited.model), expected(load_reference(picked));
    std::mt19937 random(device_seed());
    for (int i = 0; i < 3; ++i) {
      const auto inputs = random_inputs(*limited.model, {{"N", 40}}, random);
      set_inputs(call, inputs);
      set_inputs(expected, inputs);
      call.run();
      expected.run();
      CHECK(difference(*limited.model, call, expected) < 1e-4);
    }
    return limited.device->most_bytes_of_runs();
  };
  const std::size_t both = run(0);
  CHECK(run(both - 1) < both);
}
