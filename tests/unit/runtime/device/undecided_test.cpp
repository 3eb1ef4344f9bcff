// Models whose structure the values of inputs decide, on a device: tensors there, callers' streams,
// and what runs that left report.

#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "src/runtime/device/open_device.hpp"
#include "src/runtime/structures/undecided_executable.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/device/on_driver.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;
using ptx::cuda::Result;
using test::FakeDriver;

namespace {

/// `n` products of x, which gathers choose rows for; `n` decides how many, and `unread` nothing.
std::string text_of(std::int64_t n) {
  std::string text = R"(dyn 1
dim S in 0..64
weight w: f32[3, 3] = random 4
weight table: f32[7, 3] = random 5
graph g(x: f32[S, 3], n: i64[1], ids: i64[S], unread: f32[4]) -> (y: f32[S, 3]) {
  h_0 = x + gather(table, ids) axis=0
)";
  for (std::int64_t i = 0; i < n; ++i) text += fmt::format("  h_{} = matmul(h_{}, w)\n", i + 1, i);
  return text + fmt::format("  y = h_{} * 2\n  return y\n}}\n", n);
}

std::int64_t value_of(const Tensor& n) { return n.data<std::int64_t>()[0]; }
Tensor number(std::int64_t n) { return Tensor::from<std::int64_t>({n}, {1}); }

ModelPtr load_decided(std::int64_t n, const TargetFactory& factory, const Options& options = {}) {
  LoadRequest request;
  request.text = text_of(n);
  request.decided = {{"n", number(n)}};
  return Model::load(request, options, factory);
}

/// Loads text_of() for each value of `n`; `factory` puts all on this device.
ModelPtr load_undecided(const std::shared_ptr<rkernel::Device>& device,
                        const std::function<TargetFactory(std::int64_t n)>& factory,
                        int structures = 16) {
  const ModelPtr ports = load_reference(text_of(1));
  ModelInfo info{{}, 1, ports->inputs(), ports->outputs(), {}};
  info.options.structures = structures;
  const auto load = [factory](const Structures::Facts& facts) -> Structures::Loaded {
    if (!facts.values.contains("n")) return {nullptr, {{"n"}, {}}};
    CHECK(facts.values.size() == 1);
    const std::int64_t n = value_of(facts.values.at("n"));
    return {load_decided(n, factory(n)), {}};
  };
  return std::make_shared<const Model>(
      std::make_unique<UndecidedExecutable>(std::move(info), Structures::Deciding{}, load, device),
      LoadReport());
}

ModelPtr load_undecided(const std::shared_ptr<FakeDevice>& device, int structures = 16) {
  return load_undecided(
      device, [device](std::int64_t) { return fake_gpu(with_mask(device, all_groups)); },
      structures);
}

/// x, n, ids and unread for `length` rows.
std::vector<Tensor> random_of(std::int64_t n, std::int64_t length, std::mt19937& random) {
  auto inputs = random_inputs(*load_reference(text_of(0)), {{"S", length}}, random);
  inputs[1] = number(n);
  return inputs;
}

Tensor expected_of(const std::vector<Tensor>& inputs) {
  CallState call(load_reference(text_of(value_of(inputs[1]))));
  set_inputs(call, inputs);
  call.run();
  return call.output(0);
}

bool is_close(const Tensor& got, const Tensor& expected) {
  if (got.shape() != expected.shape()) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
    const float wanted = expected.data<float>()[i];
    if (!(std::abs(got.data<float>()[i] - wanted) <= 1e-4f * (1 + std::abs(wanted)))) return false;
  }
  return true;
}

void upload(rkernel::Stream& stream, const Tensor& to, const Tensor& from) {
  stream.upload(reinterpret_cast<rkernel::DeviceAddress>(to.raw()), from.raw(), from.bytes());
}

/// Structures on a fake device, and a call of theirs on a stream whose output lies there.
struct OnStream {
  explicit OnStream(int structures = 16) : model(load_undecided(device, structures)) {
    call.set_stream(stream);
    call.set_output(0, device);
  }
  /// Binds inputs on the device; `n` stays on the host unless it is to lie there.
  void bind(const std::vector<Tensor>& inputs, bool n_there) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      call.set_input(i, i != 1 || n_there ? open.upload(inputs[i]) : inputs[i]);
  }
  Tensor output() { return open.download(call.output(0)); }

  std::mt19937 random{device_seed()};
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  OpenDevice open{device};
  ModelPtr model;
  std::shared_ptr<rkernel::Stream> stream = device->make_stream();
  CallState call{model};
};

}  // namespace

TEST_CASE("structures on a device: tensors in any mix of places give the reference's results") {
  OnStream on;
  const ModelPtr& model = on.model;
  CallState own(model), streamed(model);
  streamed.set_stream(on.stream);
  for (int round = 0; round < testing::test_rounds(24); ++round) {
    const auto inputs = random_of(on.random() % 3, 1 + on.random() % 8, on.random);
    CallState& call = on.random() % 2 == 0 ? own : streamed;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      call.set_input(i, on.random() % 2 == 0 ? on.open.upload(inputs[i]) : inputs[i]);
    const Tensor expected = expected_of(inputs);
    const int place = static_cast<int>(on.random() % 3);
    if (place == 0) call.set_output(0, on.device);
    if (place == 1) call.set_output(0, on.open.upload(expected));
    if (place == 2) call.set_output(0, Tensor(DType::f32, expected.shape()));
    call.run();
    call.wait();
    CHECK(call.output(0).on_device() == (place != 2));
    CHECK(is_close(place == 2 ? call.output(0) : on.open.download(call.output(0)), expected));
  }
}

TEST_CASE("structures on a device: the values that decide are those that the stream leaves there") {
  OnStream on;
  const auto inputs = random_of(1, 5, on.random);
  on.bind(inputs, true);
  on.call.run();
  on.call.wait();
  for (const std::int64_t n : {2, 0, 1, 2}) {
    auto changed = inputs;
    changed[1] = number(n);
    upload(*on.stream, on.call.input(1), changed[1]);
    on.call.run();
    on.call.wait();
    CHECK(is_close(on.output(), expected_of(changed)));
  }
  const FakeCounts before = on.device->counts();
  on.call.run();
  CHECK(on.device->counts().downloads == before.downloads + 1);  // n, and nothing else
  CHECK(on.device->counts().waits == before.waits + 1);
  CHECK(on.device->counts().uploads == before.uploads);
  CHECK(on.device->queued_commands() > 0);
  on.call.wait();
}

TEST_CASE("structures on a device: runs on a stream wait for nothing, whichever they are") {
  for (const int structures : {16, 2}) {
    CAPTURE(structures);
    OnStream on(structures);
    std::vector<std::vector<Tensor>> inputs, placed;
    std::vector<Tensor> outputs;
    for (std::int64_t n = 0; n < 3; ++n) {
      inputs.push_back(random_of(n, 4, on.random));
      on.bind(inputs.back(), false);
      placed.emplace_back();
      for (std::size_t i = 0; i < 4; ++i) placed.back().push_back(on.call.input(i));
      outputs.push_back(on.open.upload(Tensor(DType::f32, {4, 3})));
      on.call.run();  // loads, and takes memory
    }
    const FakeCounts before = on.device->counts();
    for (const std::size_t n : {0u, 2u, 1u, 2u, 0u, 1u}) {
      set_inputs(on.call, placed[n]);
      on.call.set_output(0, outputs[n]);
      on.call.run();
    }
    if (structures == 16) {
      CHECK(on.device->counts().waits == before.waits);
      CHECK(on.device->counts().downloads == before.downloads);
    } else {
      CHECK(on.device->counts().waits > before.waits);  // at most two are in flight
    }
    CHECK(on.call.in_flight());
    on.call.wait();
    CHECK_FALSE(on.call.in_flight());
    CHECK(on.device->queued_commands() == 0);
    for (std::size_t n = 0; n < 3; ++n)
      CHECK(is_close(on.open.download(outputs[n]), expected_of(inputs[n])));
  }
}

TEST_CASE("structures on a device: an output that is allocated there stays, or is another's") {
  OnStream on;
  const auto inputs = random_of(1, 5, on.random);
  on.bind(inputs, false);
  on.call.run();
  const Tensor first = on.call.output(0);
  on.call.run();
  CHECK(on.call.output(0).raw() == first.raw());
  on.call.set_output(0, on.device);  // the first is the caller's alone
  auto others = inputs;
  others[0] = Tensor(DType::f32, {5, 3});
  on.bind(others, false);
  on.call.run();
  on.call.wait();
  CHECK(on.call.output(0).raw() != first.raw());
  CHECK(is_close(on.open.download(first), expected_of(inputs)));
  CHECK(is_close(on.output(), expected_of(others)));
}

TEST_CASE("structures on a device: what a left run reports is told though others came after it") {
  OnStream on;
  const auto good = random_of(1, 5, on.random), other = random_of(2, 5, on.random);
  auto bad = good;
  bad[2] = Tensor::from<std::int64_t>({1, 2, 7, 3, 4}, {5});
  const auto check_told = [&](const std::function<void()>& work) {
    check_error(ErrorKind::user, work, "an index is out of range");
  };
  const auto run = [&](const std::vector<Tensor>& inputs, bool n_there = false) {
    on.bind(inputs, n_there);
    on.call.run();
  };
  run(bad);
  run(other);
  run(good);
  check_told([&] { on.call.wait(); });
  on.call.wait();
  CHECK(is_close(on.output(), expected_of(good)));
  run(bad);
  run(other);
  check_told([&] { run(good, true); });  // it waits before it chooses
  run(other, true);
  on.call.wait();
  CHECK(is_close(on.output(), expected_of(other)));
  run(bad);
  run(other);
  check_told([&] { on.call.set_stream(on.device->make_stream()); });
  run(good);
  on.call.wait();
  // Two runs failed: one is told, and the other is no longer in flight.
  auto worse = other;
  worse[2] = bad[2];
  run(bad);
  run(worse);
  check_told([&] { on.call.wait(); });
  CHECK(on.device->queued_commands() == 0);
  on.call.wait();

  OnStream one(1);
  one.bind(bad, false);
  one.call.run();
  one.bind(other, false);
  check_told([&] { one.call.run(); });
  one.call.run();
  one.call.wait();
  CHECK(is_close(one.output(), expected_of(other)));
}

TEST_CASE("structures on a device: tensors and streams of others, and structures of the host") {
  const auto device = std::make_shared<FakeDevice>(), other = std::make_shared<FakeDevice>();
  const ModelPtr model = load_undecided(device, [device](std::int64_t n) {
    return fake_gpu(with_mask(device, n == 0 ? 0 : all_groups));
  });
  CHECK(model->executable().device() == device);
  OpenDevice open(device), of_other(other);
  std::mt19937 random(device_seed());
  const auto inputs = random_of(1, 5, random);
  CallState call(model);
  check_error(
      ErrorKind::user, [&] { call.set_input(1, of_other.upload(inputs[1])); },
      "input 'n' is on another device (fake device) than the graph");
  check_error(
      ErrorKind::user, [&] { call.set_output(0, other); }, "output 'y' is on another device");
  check_error(ErrorKind::user, [&] { call.check_device(*other); }, "the stream is on another");
  set_inputs(call, inputs);
  call.set_input(1, open.upload(inputs[1]));
  call.set_stream(device->make_stream());
  call.run();
  CHECK(is_close(call.output(0), expected_of(inputs)));

  auto of_host = inputs;
  of_host[1] = number(0);
  set_inputs(call, of_host);
  check_error(
      ErrorKind::user, [&] { call.run(); },
      "the stream is on fake device, but the graph takes what is on the host alone");
  call.set_stream(nullptr);
  call.run();
  CHECK(is_close(call.output(0), expected_of(of_host)));
  call.set_input(0, open.upload(of_host[0]));
  check_error(
      ErrorKind::user, [&] { call.run(); },
      "input 'x' is on fake device, but the graph takes what is on the host alone");
  set_inputs(call, of_host);
  call.set_output(0, device);
  check_error(
      ErrorKind::user, [&] { call.run(); },
      "output 'y' is on fake device, but the graph takes what is on the host alone");
  set_inputs(call, inputs);
  call.run();
  CHECK(is_close(open.download(call.output(0)), expected_of(inputs)));

  const ModelPtr on_cpu =
      load_undecided(nullptr, [device](std::int64_t) { return fake_gpu(with_mask(device, 0)); });
  CallState host_call(on_cpu);
  check_error(
      ErrorKind::user, [&] { host_call.set_input(1, open.upload(inputs[1])); },
      "input 'n' is on fake device, but the graph takes what is on the host alone");
}

TEST_CASE("values that a device tensor must have at each run are read behind the stream") {
  const auto device = std::make_shared<FakeDevice>();
  const ModelPtr model = load_decided(1, fake_gpu(with_mask(device, all_groups)));
  OpenDevice open(device);
  std::mt19937 random(device_seed());
  const auto inputs = random_of(1, 5, random);
  const std::shared_ptr<rkernel::Stream> stream = device->make_stream();
  for (const bool on_stream : {false, true}) {
    CallState call(model);
    set_inputs(call, inputs);
    const Tensor n = open.upload(inputs[1]);
    call.set_input(1, n);
    if (on_stream) call.set_stream(stream);
    call.run();
    CHECK(is_close(call.output(0), expected_of(inputs)));
    upload(*stream, n, number(2));
    if (!on_stream) stream->synchronise();
    call.set_input(1, n);
    check_error(
        ErrorKind::user, [&] { call.run(); },
        "input 'n' differs from the value that the model was loaded with");
    upload(*stream, n, number(1));
    if (!on_stream) stream->synchronise();
    call.run();
    CHECK(is_close(call.output(0), expected_of(inputs)));
  }
}

TEST_CASE("structures on a device: threads with streams of their own, at any of the structures") {
  OnStream on;
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(device_seed() + t);
      OpenDevice open(on.device);
      const std::shared_ptr<rkernel::Stream> stream = on.device->make_stream();
      CallState call(on.model);
      call.set_stream(stream);
      call.set_output(0, on.device);
      for (int round = 0; round < testing::test_rounds(12); ++round) {
        const auto inputs = random_of(random() % 4, 1 + random() % 8, random);
        for (std::size_t i = 0; i < inputs.size(); ++i)
          call.set_input(i, i == 1 && random() % 2 == 0 ? inputs[i] : open.upload(inputs[i]));
        call.run();
        if (random() % 3 == 0) continue;
        call.wait();
        if (!is_close(open.download(call.output(0)), expected_of(inputs))) ++wrong;
      }
      call.wait();
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("structures behind the driver: copies that wait for nobody's pages, captures, the end") {
  const FakeDriver fake;
  {
    const auto driver = fake.open();
    const std::shared_ptr<rkernel::Device> device = ptx::open_cuda_device("", "", driver);
    int loads = 0;
    const ModelPtr model = load_undecided(device, [&](std::int64_t) {
      ++loads;
      return on_driver(driver);
    });
    OpenDevice open(device);
    std::mt19937 random(device_seed());
    const auto inputs = random_of(2, 5, random);
    ptx::cuda::ContextHandle context = nullptr;
    ptx::cuda::StreamHandle handle = nullptr;
    REQUIRE(driver->cuDevicePrimaryCtxRetain(&context, 0) == Result::Success);
    REQUIRE(driver->cuCtxPushCurrent(context) == Result::Success);
    REQUIRE(driver->cuStreamCreate(&handle, ptx::cuda::stream_non_blocking) == Result::Success);
    {
      CallState call(model);
      call.set_stream(device->use_stream(handle));
      call.set_output(0, device);
      for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, open.upload(inputs[i]));
      call.run();
      CHECK(call.in_flight());
      CHECK(call.output(0).shape() == Shape{5, 3});
      fake->capturing = handle;
      const auto captured = [&] {
        check_error(
            ErrorKind::user, [&] { call.run(); }, "it is being captured", "end the capture");
      };
      captured();
      call.set_input(1, number(3));  // would be loaded
      captured();
      CHECK(loads == 1);
      fake->capturing = nullptr;
      const int launched = fake->counts.launches;
      call.run();
      CHECK(call.in_flight());
      call.wait();
      CHECK(fake->counts.launches > launched);
      CHECK(fake->counts.pageable == 0);
    }
    CHECK(driver->cuStreamDestroy(handle) == Result::Success);
    CHECK(driver->cuCtxPopCurrent(&context) == Result::Success);
    CHECK(driver->cuDevicePrimaryCtxRelease(0) == Result::Success);
  }
  CHECK(fake->counts.even());
}
