// Runs that replay their launches as graphs, and runs on a caller's stream.

#include <cstring>

#include "dyn/dyn.hpp"
#include "src/runtime/device/open_device.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("launch graphs: one for all shapes of the same kernels, from their second run on") {
  ChainCall chain_call(all_groups);
  int runs = 0;
  for (const std::int64_t length : {5, 64, 5, 1, 9}) {
    chain_call.bind(length);
    chain_call.check_run();
    ++runs;
    CHECK(chain_call.device->counts().graphs == (runs > 1 ? 1 : 0));
    CHECK(chain_call.device->counts().replays == runs - 1);
    CHECK(chain_call.device->counts().launches == 3 * runs);
  }
}

TEST_CASE("launch graphs: host groups between launches, and devices that refuse, go one by one") {
  ChainCall mixed(0b101);  // single launches, with a group of the host between them
  for (int run = 0; run < 3; ++run) {
    mixed.bind(5);
    mixed.check_run();
  }
  CHECK(mixed.device->counts().graphs == 0);
  ChainCall refused(all_groups);
  refused.bind(5);
  refused.check_run();
  refused.device->fail_graph = 1;
  refused.check_run();
  refused.check_run();
  CHECK(refused.device->counts().replays == 0);
  refused.bind(6);
  refused.device->fail_replay = 1;
  refused.check_run();
  CHECK(refused.device->counts().graphs == 1);
  CHECK(refused.device->counts().replays == 0);
  refused.bind(7);
  refused.check_run();
  CHECK(refused.device->counts().graphs == 2);
  CHECK(refused.device->counts().replays == 1);
}

TEST_CASE("launch graphs on the emulator: the bits of launches one by one") {
  std::mt19937 random(device_seed());
  const Graph graph = Graph::from_text(attention_like, uncached(2, "emulator"));
  CallState replayed(graph.model()), one_by_one(graph.model());
  for (const std::int64_t length : {3, 8, 5, 8}) {
    const auto inputs = random_inputs(*graph.model(), {{"B", 2}, {"S", length}}, random);
    set_inputs(replayed, inputs);
    set_inputs(one_by_one, inputs);
    RunProfile profile;
    one_by_one.run(&profile);
    for (int run = 0; run < 2; ++run) {
      replayed.run();
      for (std::size_t i = 0; i < graph.outputs().size(); ++i)
        CHECK(same_bits(replayed.output(i), one_by_one.output(i)));
    }
  }
}

TEST_CASE("a caller's stream: runs follow each other there, and nobody waits before the end") {
  std::mt19937 random(device_seed());
  const auto device = std::make_shared<FakeDevice>();
  const auto model = load_model(chain, fake_gpu(with_mask(device, all_groups)));
  OpenDevice open(device);
  CallState first(model), second(model), expected(load_reference(chain));
  const auto x = random_inputs(*model, {{"S", 5}}, random);
  const Tensor between = open.upload(Tensor(DType::f32, {5, 3})),
               end = open.upload(Tensor(DType::f32, {5, 3}));
  const std::shared_ptr<rkernel::Stream> stream = device->make_stream();
  for (CallState* call : {&first, &second}) call->set_stream(stream);
  first.set_input(0, open.upload(x[0]));
  first.set_output(0, between);
  second.set_input(0, between);
  second.set_output(0, end);
  const int waits = device->counts().waits;
  for (int run = 0; run < 3; ++run) {
    first.run();
    second.run();
  }
  // Each run makes its memory on a stream of its own, and waits for that alone.
  CHECK(device->counts().waits - waits <= 6);
  CHECK(device->queued_commands() > 0);
  second.wait();
  CHECK(device->queued_commands() == 0);
  first.wait();
  set_inputs(expected, x);
  expected.run();
  const Tensor once = expected.output(0);
  expected.set_input(0, Tensor::view(DType::f32, once.raw(), {5, 3}));
  CallState twice(load_reference(chain));
  twice.set_input(0, once);
  twice.run();
  const Tensor got = open.download(end);
  for (std::size_t i = 0; i < 15; ++i)
    CHECK(got.data<float>()[i] == doctest::Approx(twice.output(0).data<float>()[i]).epsilon(1e-4));
  // Another shape while runs are in flight, and a call that ends with one.
  const auto y = random_inputs(*model, {{"S", 64}}, random);
  CallState last(model);
  last.set_stream(stream);
  last.set_output(0, device);
  for (const auto& inputs : {x, y, x}) {
    last.set_input(0, open.upload(inputs[0]));
    last.run();
  }
  last.wait();
  const Tensor again = open.download(last.output(0));
  for (std::size_t i = 0; i < 15; ++i)
    CHECK(again.data<float>()[i] == doctest::Approx(once.data<float>()[i]).epsilon(1e-4));
  last.run();
}

TEST_CASE("a caller's stream: an index out of range is reported by wait, or by the next run") {
  const auto device = std::make_shared<FakeDevice>();
  const auto model = load_model(gathered, fake_gpu(with_mask(device, all_groups)));
  OpenDevice open(device);
  CallState call(model);
  call.set_stream(device->make_stream());
  call.set_output(0, device);
  const Tensor good = open.upload(Tensor::from<std::int64_t>({1, 6}, {2})),
               bad = open.upload(Tensor::from<std::int64_t>({1, 7}, {2}));
  call.set_input(0, bad);
  call.run();
  call.set_input(0, good);
  call.run();  // forgets nothing
  check_error(ErrorKind::user, [&] { call.wait(); }, "an index is out of range", "gather_0");
  call.run();
  call.wait();
  call.set_input(0, bad);
  call.run();
  call.set_output(0, Tensor(DType::f32, {2, 3}));
  check_error(ErrorKind::user, [&] { call.run(); }, "an index is out of range");
  call.set_input(0, good);
  call.run();
}

TEST_CASE("dyn::Stream: on the emulator, and refused for graphs on the host") {
  const Graph graph = Graph::from_text(chain, uncached(2, "emulator")),
              on_cpu = Graph::from_text(chain, uncached());
  const Device device(graph);
  const Stream stream = device.make_stream();
  std::mt19937 random(device_seed());
  const Tensor x = random_inputs(*graph.model(), {{"S", 5}}, random).front();
  Call call(graph), host_call(on_cpu);
  call.set_stream(stream);
  call.set_input("x", device.upload(x));
  call.set_output("y", device);
  for (int run = 0; run < 3; ++run) call.run();
  call.wait();
  stream.wait();
  CHECK(same_bits(device.download(call.output("y")), graph.run({{"x", x}})[0]));
  check_error(
      ErrorKind::user, [&] { host_call.set_stream(stream); },
      "the stream is on emulated a100, but the graph takes what is on the host alone");
  check_error(
      ErrorKind::unsupported, [&] { device.stream(nullptr); },
      "emulated a100 takes no streams of other libraries");
}

TEST_CASE("launch graphs: other kernels have another graph, and only so many are kept") {
  FakeDevice device;
  const auto stream = device.make_stream();
  LaunchGraphs graphs(device);
  Wiring wiring;
  wiring.spaces.assign(2, rkernel::Space::Device);
  wiring.steps = {{Step::Kind::Launch, 0}, {Step::Kind::Launch, 1}};
  int functions[40] = {};  // only their addresses count: nothing is executed
  const auto bind = [&](int first, int second) {
    std::vector<rkernel::DeviceLaunch> launches(2);
    launches[0] = {&functions[first], "first", 1, 64, 0, 0, 0, 0, {}};
    launches[1] = {&functions[second], "second", 1, 64, 0, 0, 0, 0, {}};
    graphs.bind(wiring, launches);
    graphs.start(false);
    return graphs.launch(0, *stream) && graphs.launch(1, *stream);
  };
  CHECK(!bind(0, 1));
  CHECK(!bind(1, 0));
  CHECK(bind(0, 1));
  CHECK(bind(1, 0));
  CHECK(device.counts().graphs == 2);
  for (int i = 2; i < 38; ++i) CHECK(!bind(i, i + 1));
  CHECK(graphs.kept() == LaunchGraphs::most_kept);
  CHECK(!bind(0, 1));  // dropped
  CHECK(bind(37, 38));
}
