// Sessions whose states lie on a device, or on both machines: on the emulator, and on a fake device
// that does work late and knows which bytes were written.

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "dyn/dyn.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/load/target_factory.hpp"
#include "src/runtime/session/session_state.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

namespace {

/// Two heads of attention over what a session keeps, and a state at a fixed place that each run
/// writes the middle row of.
const char* const cached_attention = R"(dyn 1
dim B in 1..4 hint 2
dim S in 0..16
dim P in 0..16
dim C in 1..16 hint 12
state keys: f32[B, 2, C, 4]
state values: f32[B, 2, C, 4]
state last: f32[3, 8]
weight table: f32[7, 8] = random 1
weight w: f32[8, 24] = random 2
weight o: f32[8, 8] = random 3
graph cached(ids: i64[B, S]) -> (y: f32[B, S, 8], z: f32[3, 8]) {
  x = gather(table, ids) axis=0
  q, k, v = split(matmul(x, w)) axis=2 sizes=[8, 8, 8]
  qh = transpose(reshape(q) shape=[B, S, 2, 4]) perm=[0, 2, 1, 3]
  kh = transpose(reshape(k) shape=[B, S, 2, 4]) perm=[0, 2, 1, 3]
  vh = transpose(reshape(v) shape=[B, S, 2, 4]) perm=[0, 2, 1, 3]
  kc = append(keys, kh) at=P
  vc = append(values, vh) at=P
  ka = slice(kc) axes=[2] starts=[0] ends=[P + S]
  va = slice(vc) axes=[2] starts=[0] ends=[P + S]
  a = attention(qh, ka, va) causal=true
  y = matmul(reshape(transpose(a) perm=[0, 2, 1, 3]) shape=[B, S, 8], o) + x
  l = append(last, reshape(reduce_sum(x) axes=[0, 1] keepdims=false) shape=[1, 8]) at=1
  z = l * 2.0
  return y, z
}
)";
constexpr std::int64_t batch = 2, width = 8, capacity = 12;

using Tokens = std::vector<std::int64_t>;  ///< [batch, positions]

Tokens random_tokens(std::int64_t positions, unsigned seed) {
  std::mt19937 random(seed);
  Tokens tokens(static_cast<std::size_t>(batch * positions));
  for (std::int64_t& token : tokens) token = random() % 7;
  return tokens;
}

/// Positions [first, last) of rows that have `positions`, of `size` elements each.
template <class T>
std::vector<T> positions_of(const std::vector<T>& rows, std::int64_t positions, std::int64_t first,
                            std::int64_t last, std::int64_t size) {
  std::vector<T> part;
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto row = rows.begin() + b * positions * size;
    part.insert(part.end(), row + first * size, row + last * size);
  }
  return part;
}

Options of_device(const std::string& device, const std::string& precision = "f32") {
  Options options = uncached(2, device);
  options.precision = precision;
  return options;
}

ModelPtr on_emulator(const char* text, const std::string& precision = "f32") {
  return load_model(text, make_target, of_device("emulator", precision));
}

/// One session of a model, and its one caller.
struct Decoder {
  explicit Decoder(const ModelPtr& model)
      : session(std::make_shared<SessionState>(model, std::map<std::string, std::int64_t>{})),
        call(session) {}

  /// y of these positions.
  std::vector<float> run(const Tokens& tokens) {
    call.set_input(0, Tensor::from<std::int64_t>(
                          tokens, {batch, static_cast<std::int64_t>(tokens.size()) / batch}));
    call.run();
    const auto y = call.output(0).data<float>();
    return {y.begin(), y.end()};
  }
  std::vector<float> fixed() const {
    const auto z = call.output(1).data<float>();
    return {z.begin(), z.end()};
  }
  /// The elements of a state that are not zero.
  std::size_t filled(std::size_t state) const {
    const Tensor tensor = session->read(state);
    const auto values = tensor.data<float>();
    return values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.f));
  }

  std::shared_ptr<SessionState> session;
  CallState call;
};

double apart(const std::vector<float>& left, const std::vector<float>& right) {
  if (left.size() != right.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double difference = std::abs(static_cast<double>(left[i]) - right[i]);
    most = difference <= most ? most : difference;  // NaN counts
  }
  return most;
}

/// Runs `tokens` in steps of these lengths and compares each with the rows of the whole at once.
/// Returns the largest difference, relative to values that are about 1.
double steps_apart(const ModelPtr& model, const std::vector<float>& whole, const Tokens& tokens,
                   const std::vector<std::int64_t>& steps) {
  const std::int64_t positions = static_cast<std::int64_t>(tokens.size()) / batch;
  Decoder decoder(model);
  double most = 0;
  std::int64_t at = 0;
  for (const std::int64_t step : steps) {
    const std::vector<float> y = decoder.run(positions_of(tokens, positions, at, at + step, 1));
    most = std::max(most, apart(y, positions_of(whole, positions, at, at + step, width)));
    at += step;
    CHECK(decoder.session->length() == at);
  }
  return most;
}

const std::vector<std::int64_t> uneven_steps = {3, 1, 0, 2, 1, 1};
constexpr std::int64_t all_positions = 8;

}  // namespace

TEST_CASE("attention over states on the emulator, step by step, is that of the CPU and the whole") {
  const Tokens tokens = random_tokens(all_positions, device_seed());
  const auto whole_on = [&](const ModelPtr& model) { return Decoder(model).run(tokens); };
  const std::vector<float> expected =
      whole_on(load_model(cached_attention, make_target, of_device("cpu")));
  for (const auto& [precision, tolerance] :
       std::vector<std::pair<std::string, double>>{{"f32", 1e-4}, {"bf16", 0.1}}) {
    CAPTURE(precision);
    const ModelPtr model = on_emulator(cached_attention, precision);
    CHECK(apart(whole_on(model), expected) < tolerance);
    CHECK(steps_apart(model, expected, tokens, uneven_steps) < tolerance);
    CHECK(model->kernels_compiled_since_load() <= model->load_report().kernels);
  }
}

TEST_CASE("a step on the emulator copies its tokens in, its outputs out, and no state") {
  for (const char* precision : {"f32", "bf16"}) {
    const ModelPtr model = on_emulator(cached_attention, precision);
    std::vector<std::string> crossing;
    const auto symbols = model->bind_dims({{"S", 1}, {"P", 5}});
    for (const CopyInfo& copy : model->copies(*model->plan(symbols)))
      crossing.push_back(copy.tensor);
    CHECK(crossing.size() == 3);
    for (std::size_t group = 0; group < model->problems().size(); ++group) {
      CHECK(model->kernel(group).space() == rkernel::Space::Device);
      // A state is in memory what the module says, whatever the precision.
      for (const rkernel::Operand& operand : model->problems()[group].operands) {
        if (model->module().value(operand.buffer).kind == graph::ValueKind::State)
          CHECK(operand.dtype == DType::f32);
      }
    }
  }
}

TEST_CASE("states of every dtype that a GPU knows, and of one that it does not") {
  for (const auto& [dtype, known] : std::vector<std::pair<std::string, bool>>{{"f32", true},
                                                                              {"f16", true},
                                                                              {"bf16", true},
                                                                              {"i32", true},
                                                                              {"i64", true},
                                                                              {"bool", true},
                                                                              {"f64", false},
                                                                              {"i8", true},
                                                                              {"u16", true}}) {
    CAPTURE(dtype);
    const std::string text = std::string(R"(dyn 1
dim S in 0..8
dim P in 0..8
dim C in 1..8 hint 6
state kept: )") + dtype + R"([2, C]
graph g(x: f32[2, S]) -> (r: f32[2, _]) {
  k = append(kept, cast(x) dtype=)" +
                             dtype + R"() at=P axis=1
  r = cast(slice(k) axes=[1] starts=[0] ends=[P + S]) dtype=f32
  return r
}
)";
    const Graph graph = Graph::from_text(text, of_device("emulator"));
    const auto& groups = graph.model()->executable().groups();
    CHECK(groups.in(rkernel::Space::Host).empty() == known);
    Session session(graph);
    std::vector<float> rows[2];
    for (std::int64_t step = 0; step < 3; ++step) {
      Tensor x(DType::f32, {2, 2});
      for (std::size_t i = 0; i < 4; ++i) {
        const float value =
            static_cast<float>((step * 4 + static_cast<std::int64_t>(i)) * 5 % 3 % 2);
        x.mutable_data<float>()[i] = value;
        rows[i / 2].push_back(value);
      }
      const Outputs outputs = session.run({{"x", x}});
      const auto r = outputs["r"].data<float>();
      std::vector<float> expected = rows[0];
      expected.insert(expected.end(), rows[1].begin(), rows[1].end());
      CHECK(std::vector<float>(r.begin(), r.end()) == expected);
    }
  }
}

TEST_CASE("sessions that take turns at the same length on the emulator keep to themselves") {
  const ModelPtr model = on_emulator(cached_attention);
  std::vector<Tokens> tokens;
  std::vector<std::vector<float>> expected;
  std::vector<std::unique_ptr<Decoder>> decoders;
  for (unsigned i = 0; i < 3; ++i) {
    tokens.push_back(random_tokens(all_positions, 100 + i));
    expected.push_back(Decoder(model).run(tokens[i]));
    decoders.push_back(std::make_unique<Decoder>(model));
  }
  CHECK(apart(expected[0], expected[1]) > 0.1);
  for (std::int64_t at = 0; at < all_positions; ++at) {
    for (unsigned i = 0; i < 3; ++i) {
      const std::vector<float> y =
          decoders[i]->run(positions_of(tokens[i], all_positions, at, at + 1, 1));
      CHECK(apart(y, positions_of(expected[i], all_positions, at, at + 1, width)) < 1e-4);
    }
  }
}

TEST_CASE("truncated and reset sessions on the emulator are as if nothing had been appended") {
  const ModelPtr model = on_emulator(cached_attention);
  Decoder decoder(model);
  const Tokens first = random_tokens(6, 11), second = random_tokens(5, 12);
  const auto row = static_cast<std::size_t>(batch * width);
  decoder.run(first);
  CHECK(decoder.filled(0) == 6 * row);
  decoder.session->truncate(2);
  CHECK(decoder.filled(0) == 2 * row);
  CHECK(decoder.filled(1) == 2 * row);
  CHECK(decoder.filled(2) > 0);
  // Two positions of the first, then the second.
  Tokens joined;
  for (std::int64_t b = 0; b < batch; ++b) {
    joined.insert(joined.end(), first.begin() + b * 6, first.begin() + b * 6 + 2);
    joined.insert(joined.end(), second.begin() + b * 5, second.begin() + (b + 1) * 5);
  }
  const std::vector<float> expected = Decoder(model).run(joined);
  CHECK(apart(decoder.run(second), positions_of(expected, 7, 2, 7, width)) < 1e-4);
  decoder.session->reset();
  for (std::size_t state = 0; state < 3; ++state) CHECK(decoder.filled(state) == 0);
  CHECK(apart(decoder.run(joined), expected) < 1e-4);
}

TEST_CASE("a run that fails on the emulator leaves no trace in the states") {
  Decoder decoder(on_emulator(cached_attention));
  const auto row = static_cast<std::size_t>(batch * width);
  decoder.run(random_tokens(2, 21));
  check_error(ErrorKind::user, [&] { decoder.run({1, 2, 3, 77}); }, "index is out of range");
  CHECK(decoder.session->length() == 2);
  CHECK(decoder.filled(0) == 2 * row);
  CHECK(decoder.filled(1) == 2 * row);
}

TEST_CASE("four threads with sessions of their own on the emulator") {
  const ModelPtr model = on_emulator(cached_attention);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 3; ++round) {
        const Tokens tokens = random_tokens(all_positions, 10 * t + round);
        const std::vector<float> whole = Decoder(model).run(tokens);
        if (!(steps_apart(model, whole, tokens, uneven_steps) < 1e-4)) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("a state that a group on the host reads beside groups on the emulator") {
  // The GPU has no f64: the sum over all positions runs on the host, the rest on the device.
  const char* const text = R"(dyn 1
dim S in 0..16
dim P in 0..16
dim C in 1..16 hint 8
state kept: f32[2, C, 3]
weight w: f32[3, 3] = random 4
graph g(x: f32[2, S, 3]) -> (sums: f64[2, C], y: f32[2, S, C]) {
  k = append(kept, matmul(x, w)) at=P axis=1
  sums = reduce_sum(cast(k) dtype=f64) axes=[2] keepdims=false
  y = matmul(x, transpose(k) perm=[0, 2, 1])
  return sums, y
}
)";
  const Graph emulated = Graph::from_text(text, of_device("emulator")),
              plain = Graph::from_text(text, of_device("cpu"));
  Session session(emulated), expected(plain);
  const auto& model = *emulated.model();
  std::size_t of_state = 0;
  for (const CopyInfo& copy : model.copies(*model.plan(model.bind_dims({{"S", 3}, {"P", 2}})))) {
    if (copy.tensor != "kept") continue;
    ++of_state;
    CHECK(!copy.to_device);
    CHECK(copy.bytes == 2 * 3 * 3 * sizeof(float));  // of two rows of eight positions
  }
  CHECK(of_state == 1);
  const auto check_step = [&](std::int64_t positions, unsigned seed) {
    const auto count = static_cast<std::size_t>(2 * positions * 3);
    const Tensor x = Tensor::from<float>(random_values(count, seed), {2, positions, 3});
    const Outputs actual = session.run({{"x", x}}), right = expected.run({{"x", x}});
    const auto sums = actual["sums"].data<double>(), right_sums = right["sums"].data<double>();
    for (std::size_t i = 0; i < sums.size(); ++i) CHECK(std::abs(sums[i] - right_sums[i]) < 1e-5);
    const auto y = actual["y"].data<float>(), right_y = right["y"].data<float>();
    CHECK(apart({y.begin(), y.end()}, {right_y.begin(), right_y.end()}) < 1e-4);
  };
  check_step(2, 1);
  check_step(1, 2);
  check_step(3, 3);
  session.truncate(3);
  expected.truncate(3);
  check_step(0, 4);
  check_step(4, 5);
}

TEST_CASE("states with any mix of groups on host and device are those of the reference") {
  std::mt19937 random(device_seed());
  const Tokens tokens = random_tokens(all_positions, 31);
  Decoder reference(load_reference(cached_attention));
  const std::vector<float> whole = reference.run(tokens);
  const std::size_t groups = load_model(cached_attention, make_fake_target)->problems().size();
  REQUIRE(groups < 30);
  const std::uint64_t all = (std::uint64_t{1} << groups) - 1;
  for (int round = 0; round < 24; ++round) {
    const std::uint64_t mask = round == 0 ? all : round == 1 ? 0 : random() & all;
    CAPTURE(mask);
    const auto device = std::make_shared<FakeDevice>();
    {
      const ModelPtr model = load_model(cached_attention, fake_gpu(with_mask(device, mask)));
      CHECK(steps_apart(model, whole, tokens, uneven_steps) < 1e-4);
      Decoder decoder(model);
      decoder.run(tokens);
      CHECK(apart(decoder.fixed(), reference.fixed()) < 1e-4);
      decoder.session->truncate(3);
      const Tokens rest = positions_of(tokens, all_positions, 3, all_positions, 1);
      CHECK(apart(decoder.run(rest), positions_of(whole, all_positions, 3, all_positions, width)) <
            1e-4);
      CHECK(decoder.filled(0) == static_cast<std::size_t>(all_positions * batch * width));
    }
    CHECK(device->live_blocks() == 0);
    CHECK(device->dropped_commands() == 0);
  }
}

TEST_CASE("no device memory for a session: the error says so, and the graph stays usable") {
  const auto device = std::make_shared<FakeDevice>();
  const ModelPtr model = load_model(cached_attention, fake_gpu(with_mask(device, ~0ull)));
  const std::size_t before = device->live_bytes();
  const auto make = [&] { Decoder decoder(model); };
  device->memory_bytes = before + 100;
  check_error(ErrorKind::device, make, "the states of a session", "bytes wanted");
  CHECK(device->live_bytes() == before);
  device->memory_bytes = std::size_t{1} << 30;
  auto first = std::make_unique<Decoder>(model);
  CHECK(first->session->bytes() >= 2 * batch * 2 * capacity * 4 * sizeof(float));
  const Tokens tokens = random_tokens(all_positions, 41);
  const std::vector<float> whole = first->run(tokens);
  // Room for a second session only where the memory of the run that is over is given back.
  device->memory_bytes = device->live_bytes() + 100;
  Decoder second(model);
  device->memory_bytes = std::size_t{1} << 30;
  CHECK(apart(second.run(tokens), whole) < 1e-4);
  first.reset();
  device->fail_wait = 1;
  check_error(ErrorKind::device, make, "asked to fail", "the states of a session");
  CHECK(steps_apart(model, whole, tokens, uneven_steps) < 1e-4);
}

TEST_CASE("few of many steps of a session allocate device memory") {
  const char* const text = R"(dyn 1
dim P in 0..256
dim C in 1..256 hint 256
state kept: f32[C, 4]
graph g(x: f32[1, 4], q: f32[64, 4]) -> (y: f32[64, 4]) {
  k = append(kept, x) at=P axis=0
  n = softmax(matmul(q, transpose(slice(k) axes=[0] starts=[0] ends=[P + 1]) perm=[1, 0]))
  y = matmul(n, slice(k) axes=[0] starts=[0] ends=[P + 1])
  return y
}
)";
  const auto device = std::make_shared<FakeDevice>();
  const ModelPtr model = load_model(text, fake_gpu(with_mask(device, ~0ull)));
  const std::size_t loaded = device->live_blocks();
  {
    const auto session =
        std::make_shared<SessionState>(model, std::map<std::string, std::int64_t>{});
    CallState call(session);
    call.set_input(0, Tensor::from<float>(random_values(4, 61), {1, 4}));
    call.set_input(1, Tensor::from<float>(random_values(std::size_t{64} * 4, 62), {64, 4}));
    call.run();
    const int before = device->counts().allocations;
    for (int step = 1; step < 150; ++step) call.run();
    CHECK(device->counts().allocations - before < 40);
    CHECK(session->length() == 150);
    CHECK(device->live_blocks() == loaded + 3);  // the states, and arena and tables of a run
  }
  CHECK(device->live_blocks() == loaded + 2);
}

TEST_CASE("positions that a device failed to forget are forgotten before the next run") {
  const auto device = std::make_shared<FakeDevice>();
  const ModelPtr model = load_model(cached_attention, fake_gpu(with_mask(device, ~0ull)));
  Decoder decoder(model);
  const Tokens tokens = random_tokens(all_positions, 51);
  const std::vector<float> whole = decoder.run(tokens);
  const auto row = static_cast<std::size_t>(batch * width);
  device->fail_wait = 1;
  check_error(
      ErrorKind::device, [&] { decoder.session->truncate(3); }, "asked to fail",
      "the states of a session");
  CHECK(decoder.session->length() == 3);
  decoder.session->truncate(3);
  CHECK(decoder.filled(0) == 3 * row);
  // Nothing of a run that fails is kept.
  device->fail_wait = 1;
  const Tokens rest = positions_of(tokens, all_positions, 3, all_positions, 1);
  check_error(ErrorKind::device, [&] { decoder.run(rest); }, "asked to fail");
  CHECK(decoder.session->length() == 3);
  CHECK(decoder.filled(0) == 3 * row);
  CHECK(apart(decoder.run(rest), positions_of(whole, all_positions, 3, all_positions, width)) <
        1e-4);
  device->fail_wait = 1;
  check_error(ErrorKind::device, [&] { decoder.session->reset(); }, "asked to fail");
  CHECK(decoder.session->length() == 0);
  CHECK(apart(decoder.run(tokens), whole) < 1e-4);
  CHECK(decoder.filled(0) == static_cast<std::size_t>(all_positions) * row);
}
