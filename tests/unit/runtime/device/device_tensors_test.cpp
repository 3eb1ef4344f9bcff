// Inputs and outputs in a device's memory: results, copies, and errors.

#include "dyn/dyn.hpp"
#include "src/runtime/device/open_device.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

namespace {

double apart(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    largest = std::fmax(largest, std::fabs(a.data<float>()[at] - b.data<float>()[at]));
  }
  return largest;
}

/// One call whose ports lie on the device where bits of `places` say so: inputs first, then
/// outputs, of which every other one is bound.
class PlacedCall {
 public:
  PlacedCall(const ModelPtr& model, OpenDevice& device)
      : model_(model), device_(device), call_(model) {}

  void run(const std::vector<Tensor>& inputs, const std::vector<Shape>& shapes,
           std::uint64_t places) {
    std::size_t bit = 0;
    const auto next = [&] { return (places >> bit++ & 1) != 0; };
    for (std::size_t i = 0; i < inputs.size(); ++i)
      call_.set_input(i, next() ? device_.upload(inputs[i]) : inputs[i]);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool there = next();
      Tensor bound(model_->outputs()[i].dtype, shapes[i]);
      if (there && i % 2 == 0)
        call_.set_output(i, device_.upload(bound));
      else if (there)
        call_.set_output(i, device_.device());
      else
        call_.set_output(i, bound);
    }
    call_.run();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      CHECK(call_.output(i).on_device() == ((places >> (inputs.size() + i) & 1) != 0));
  }
  Tensor output(std::size_t index) {
    const Tensor& output = call_.output(index);
    return output.on_device() ? device_.download(output) : output;
  }

 private:
  ModelPtr model_;
  OpenDevice& device_;
  CallState call_;
};

}  // namespace

TEST_CASE("tensors in a device's memory: any mix of places and groups gives the same results") {
  std::mt19937 random(device_seed());
  for (const char* text : {attention_like, joined, chain}) {
    CallState expected(load_reference(text));
    const std::size_t groups = load_model(text, make_fake_target)->problems().size();
    for (int round = 0; round < 12; ++round) {
      const std::uint64_t mask =
          round < 3 ? all_groups : random() & ((std::uint64_t{1} << groups) - 1);
      if ((mask & ((std::uint64_t{1} << groups) - 1)) == 0) continue;
      CAPTURE(text);
      CAPTURE(mask);
      const auto device = std::make_shared<FakeDevice>();
      const auto model = load_model(text, fake_gpu(with_mask(device, mask)));
      OpenDevice open(device);
      PlacedCall call(model, open);
      for (int shape = 0; shape < 4; ++shape) {
        std::map<std::string, std::int64_t> dims = {{"S", random() % 9}};
        if (model->module().dims->find_symbol("B")) dims["B"] = 1 + random() % 3;
        const auto inputs = random_inputs(*model, dims, random);
        set_inputs(expected, inputs);
        expected.run();
        std::vector<Shape> shapes;
        for (std::size_t i = 0; i < model->outputs().size(); ++i)
          shapes.push_back(expected.output(i).shape());
        call.run(inputs, shapes, shape == 0 ? all_groups : random());
        for (std::size_t i = 0; i < shapes.size(); ++i)
          CHECK(apart(call.output(i), expected.output(i)) < 2e-4);
      }
    }
  }
}

TEST_CASE("tensors in a device's memory are used where they are: only tables and statuses cross") {
  ChainCall on_host(all_groups);
  on_host.bind(5);
  on_host.call.run();
  const FakeCounts before = on_host.device->counts();
  OpenDevice open(on_host.device);
  const Tensor x = open.upload(random_inputs(*on_host.model, {{"S", 5}}, on_host.random).front());
  const Tensor y = open.upload(Tensor(DType::f32, {5, 3}));
  const FakeCounts placed = on_host.device->counts();
  on_host.call.set_input(0, x);
  on_host.call.set_output(0, y);
  on_host.call.run();
  CHECK(on_host.device->counts().uploads - placed.uploads == 1);      // addresses
  CHECK(on_host.device->counts().downloads - placed.downloads == 1);  // statuses
  on_host.call.run();
  CHECK(on_host.device->counts().uploads - placed.uploads == 1);
  CHECK(on_host.device->counts().downloads - placed.downloads == 2);
  CHECK(on_host.device->counts().allocations - before.allocations == 2);  // x, y
  // And back: the arena's own buffers again.
  on_host.bind(5);
  on_host.call.set_output(0, Tensor(DType::f32, {5, 3}));
  on_host.check_run();
}

TEST_CASE("tensors of other devices, for graphs on the host, misaligned or of other types") {
  const auto device = std::make_shared<FakeDevice>(), other = std::make_shared<FakeDevice>();
  const auto model = load_model(chain, fake_gpu(with_mask(device, all_groups)));
  const auto on_host = load_model(chain, fake_gpu(with_mask(device, 0)));
  OpenDevice open(device), of_other(other);
  CallState call(model), host_call(on_host);
  const Tensor x = open.upload(Tensor(DType::f32, {5, 3}));
  check_error(
      ErrorKind::user, [&] { call.set_input(0, of_other.upload(Tensor(DType::f32, {5, 3}))); },
      "input 'x' is on another device (fake device) than the graph");
  check_error(
      ErrorKind::user, [&] { call.set_output(0, other); }, "output 'y' is on another device");
  check_error(
      ErrorKind::user, [&] { host_call.set_input(0, x); },
      "input 'x' is on fake device, but the graph takes what is on the host alone",
      "Device::download");
  check_error(ErrorKind::user, [&] { x.data<float>(); }, "Device::download");
  call.set_input(0,
                 Tensor::of_device(device, nullptr, reinterpret_cast<std::uintptr_t>(x.raw()) + 4,
                                   DType::f32, {4, 3}));
  check_error(
      ErrorKind::user, [&] { call.run(); }, "input 'x' begins at address",
      "no multiple of 16 bytes");
  call.set_input(0, open.upload(Tensor(DType::i32, {5, 3})));
  check_error(ErrorKind::user, [&] { call.run(); }, "input 'x' is i32");
  call.set_input(0, x);
  call.set_output(0, x);
  check_error(ErrorKind::user, [&] { call.run(); }, "output 'y' overlaps input 'x'");
  call.set_output(0, open.upload(Tensor(DType::f32, {4, 3})));
  check_error(ErrorKind::user, [&] { call.run(); }, "output 'y' has shape [4, 3]");
  call.set_output(0, device);
  call.run();
  CHECK(call.output(0).on_device());
}

TEST_CASE("dyn::Device: tensors of a graph on the emulator, and what is no memory of it") {
  const Graph graph = Graph::from_text(chain, uncached(2, "emulator")),
              on_cpu = Graph::from_text(chain, uncached());
  check_error(
      ErrorKind::user, [&] { const Device none(on_cpu); },
      "no kernel of the graph runs on a device");
  const Device device(graph);
  CHECK(device.name() == "emulated a100");
  std::mt19937 random(device_seed());
  const Tensor x = random_inputs(*graph.model(), {{"S", 5}}, random).front();
  const Tensor placed = device.upload(x);
  CHECK(apart(device.download(placed), x) == 0);
  Call call(graph);
  call.set_input("x", placed);
  call.set_output("y", device);
  call.run();
  const Tensor expected = graph.run({{"x", x}})[0];
  CHECK(apart(device.download(call.output("y")), expected) == 0);

  const auto address = reinterpret_cast<std::uint64_t>(placed.raw());
  const Tensor same = device.view(DType::f32, address, {5, 3});
  CHECK(apart(device.download(same), x) == 0);
  check_error(
      ErrorKind::user, [&] { device.view(DType::f32, address, {500, 3}); },
      "a view of shape [500, 3] needs 6000 bytes, but");
  check_error(
      ErrorKind::user, [&] { device.view(DType::f32, address + 4, {1}); },
      "no multiple of 16 bytes");
  check_error(
      ErrorKind::user, [&] { device.view(DType::f32, 4096, {1}); },
      "there are 0 of the memory of emulated a100");
  check_error(ErrorKind::user, [&] { device.upload(placed); }, "takes a tensor on the host");
  check_error(ErrorKind::user, [&] { device.download(x); }, "takes a tensor in the memory of");
  check_error(ErrorKind::user, [&] { device.allocate(DType::f32, {-1}); }, "is negative");
  check_error(
      ErrorKind::device, [&] { device.allocate(DType::f32, {std::int64_t{1} << 40}); },
      "no room for a tensor: 4398046511104 bytes wanted");
}
