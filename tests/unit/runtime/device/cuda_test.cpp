// Models on a GPU behind the fake driver, which executes no kernels: failures there, and contexts
// of other libraries.

#include <algorithm>
#include "tests/support/fake_driver.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/device/on_driver.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;
using ptx::cuda::Result;
using test::FakeDriver;
using test::ForeignContext;

namespace {

ModelPtr load_chain(const FakeDriver& fake) { return load_model(chain, on_driver(fake.open())); }

}  // namespace

TEST_CASE("a model on a GPU behind the driver: all is given back at the end") {
  const FakeDriver fake;
  {
    const ModelPtr model = load_chain(fake);
    CallState call(model);
    for (const std::int64_t length : {5, 64, 0, 1}) {
      set_chain(call, *model, length);
      call.run();
      CHECK(call.output(0).shape() == Shape{length, 3});
    }
    // One by one, then by a graph; nothing at length 0.
    CHECK(fake->counts.launches == 3);
    CHECK(fake->counts.graph_launches == 2);
    CHECK(fake->counts.graph_nodes == 6);
    CHECK(fake->counts.executables.made == 1);
  }
  CHECK(fake->counts.even());
}

TEST_CASE(
    "a foreign context of the calling thread stays current through load, run, failure and end") {
  const FakeDriver fake;
  {
    const ForeignContext foreign(fake);
    const ModelPtr model = load_model(chain, on_driver(foreign.driver()));
    CHECK(fake.current_device() == 1);
    CallState call(model);
    set_chain(call, *model, 5);
    fake.fail("cuLaunchKernel", Result::LaunchOutOfResources);
    CHECK_THROWS_AS(call.run(), Error);
    CHECK(fake.current_device() == 1);
    for (int run = 0; run < 2; ++run) call.run();
    CHECK(fake.current_device() == 1);
  }
  CHECK(fake->counts.even());
}

TEST_CASE(
    "a launch that the driver refuses is reported at its call, with its group, and the next call "
    "runs") {
  const FakeDriver fake;
  const ModelPtr model = load_chain(fake);
  CallState call(model);
  set_chain(call, *model, 5);
  fake.fail("cuLaunchKernel", Result::LaunchOutOfResources, 2);
  check_error(
      ErrorKind::device, [&] { call.run(); }, "launching matmul_1 (",
      "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launching 'matmul_1' on NVIDIA A100");
  call.run();
  CHECK(fake->counts.launches == 1);
  CHECK(fake->counts.graph_nodes == 3);
}

TEST_CASE("out of the GPU's memory: at load, and at a large shape, after which smaller ones run") {
  const FakeDriver fake;
  fake->memory_bytes = 700;
  check_error(
      ErrorKind::device, [&] { load_chain(fake); }, "out of device memory",
      "wanted for weights, 700 of 700 bytes free", "loading");
  CHECK(fake->counts.even());
  fake->memory_bytes = 2048;
  const ModelPtr model = load_chain(fake);
  CallState call(model);
  set_chain(call, *model, 64);
  check_error(
      ErrorKind::device, [&] { call.run(); }, "out of device memory", "intermediate tensors",
      "of 2048 bytes free");
  set_chain(call, *model, 4);
  call.run();
}

TEST_CASE(
    "a kernel that dies loses the GPU: every graph on it says so, and a new one loads when they "
    "are gone") {
  const FakeDriver fake;
  const auto driver = fake.open();
  {
    const ModelPtr model = load_model(chain, on_driver(driver));
    CallState call(model);
    set_chain(call, *model, 5);
    fake->asynchronous_failure = Result::IllegalAddress;
    check_error(
        ErrorKind::device, [&] { call.run(); }, "CUDA_ERROR_ILLEGAL_ADDRESS", "the device is lost",
        "running 'matmul_0' to 'matmul_2'");
    check_error(ErrorKind::device, [&] { call.run(); }, "the device is lost");
  }
  const ModelPtr model = load_model(chain, on_driver(driver));
  CallState call(model);
  set_chain(call, *model, 5);
  call.run();
}

TEST_CASE(
    "a graph that the driver has no memory for: launches go one by one, and the next shape asks "
    "again") {
  const FakeDriver fake;
  const ModelPtr model = load_chain(fake);
  CallState call(model);
  set_chain(call, *model, 5);
  call.run();
  const char* const functions[] = {"cuGraphCreate", "cuGraphAddKernelNode",
                                   "cuGraphInstantiateWithFlags", "cuGraphLaunch"};
  int runs = 1;
  for (const char* function : functions) {
    CAPTURE(function);
    set_chain(call, *model, 5 + runs);
    fake.fail(function, Result::OutOfMemory);
    call.run();
    CHECK(fake->counts.launches == 3 * ++runs);
    call.run();  // nothing changed: it is not asked again
    CHECK(fake->counts.launches == 3 * ++runs);
    CHECK(fake->counts.graph_launches == 0);
    CHECK(fake->counts.graphs.even());
    CHECK(fake->counts.executables.even());
  }
  set_chain(call, *model, 64);
  call.run();
  CHECK(fake->counts.graph_launches == 1);
  set_chain(call, *model, 63);
  fake.fail("cuGraphExecKernelNodeSetParams", Result::OutOfMemory);
  call.run();
  CHECK(fake->counts.graph_launches + fake->counts.launches / 3 == runs + 2);
}

TEST_CASE("a run's memory is allocated in the order of its stream, where the GPU can") {
  for (const bool pools : {true, false}) {
    CAPTURE(pools);
    const FakeDriver fake;
    fake->memory_pools = pools;
    {
      const ModelPtr model = load_chain(fake);
      CallState call(model);
      for (const std::int64_t length : {1, 64, 2}) {
        set_chain(call, *model, length);
        call.run();
      }
      CHECK((fake->counts.ordered_allocations > 0) == pools);
    }
    CHECK(fake->counts.even());
  }
}

TEST_CASE("a caller's stream that was destroyed, is captured, or is another GPU's, is refused") {
  const FakeDriver fake;
  const ForeignContext foreign(fake);
  const auto& driver = foreign.driver();
  const ModelPtr model = load_model(chain, on_driver(driver));
  const auto device = model->executable().device();
  ptx::cuda::ContextHandle context = nullptr;
  ptx::cuda::StreamHandle of_other = nullptr, handle = nullptr;
  REQUIRE(driver->cuStreamCreate(&of_other, ptx::cuda::stream_non_blocking) == Result::Success);
  check_error(
      ErrorKind::user, [&] { device->use_stream(of_other); }, "the caller's stream cannot be used",
      "belongs to another GPU");
  CHECK(driver->cuStreamDestroy(of_other) == Result::Success);
  REQUIRE(driver->cuDevicePrimaryCtxRetain(&context, 0) == Result::Success);
  REQUIRE(driver->cuCtxPushCurrent(context) == Result::Success);
  REQUIRE(driver->cuStreamCreate(&handle, ptx::cuda::stream_non_blocking) == Result::Success);
  {
    CallState call(model);
    call.set_stream(device->use_stream(handle));
    set_chain(call, *model, 5);
    call.run();
    call.set_output(0, device);
    call.run();  // leaves
    fake->capturing = handle;
    check_error(ErrorKind::user, [&] { call.run(); }, "it is being captured", "end the capture");
    fake->capturing = nullptr;
    call.run();
    call.wait();
    CHECK(driver->cuStreamDestroy(handle) == Result::Success);
    check_error(ErrorKind::user, [&] { call.run(); }, "it was destroyed");
    check_error(ErrorKind::user, [&] { device->use_stream(handle); }, "it was destroyed");
    call.set_stream(nullptr);
    call.run();
  }
  CHECK(driver->cuCtxPopCurrent(&context) == Result::Success);
  CHECK(driver->cuDevicePrimaryCtxRelease(0) == Result::Success);
}

TEST_CASE("a run on a caller's stream with all outputs on the GPU waits for nothing") {
  const FakeDriver fake;
  int executed = 0;  // also while the call is destroyed
  {
    const ModelPtr model = load_chain(fake);
    const std::shared_ptr<rkernel::Device> device = model->executable().device();
    CallState call(model);
    call.set_stream(device->make_stream());
    set_chain(call, *model, 5);
    call.set_output(0, device);
    fake->user = &executed;
    fake->on_launch = [](const test::FakeLaunch&, void* user) { ++*static_cast<int*>(user); };
    for (int run = 0; run < 4; ++run) call.run();
    CHECK(executed == 0);
    call.wait();
    CHECK(executed == 4 * 3);
    call.set_output(0, Tensor(DType::f32, {5, 3}));
    call.run();  // an output on the host
    CHECK(executed == 5 * 3);
    call.set_output(0, device);
    call.run();  // in flight at the end of the call
    CHECK(executed == 5 * 3);
  }
  CHECK(fake->counts.even());
}

TEST_CASE(
    "outputs that dyn allocates are page-locked: no copy of a run is waited for in its call") {
  const FakeDriver fake;
  {
    const ModelPtr model = load_chain(fake);
    CallState call(model);
    for (const std::int64_t length : {5, 64, 7, 63, 5, 64}) {
      set_chain(call, *model, length);
      const int before = fake->counts.downloads;
      call.run();
      CHECK(fake->counts.downloads == before + 2);  // the output and the statuses
    }
    CHECK(fake->counts.pageable == 0);
    // Two halves for uploads at load and in runs, statuses, and an output beside the one before it.
    CHECK(fake->counts.host_memory.made <= 5);
    Tensor of_caller(DType::f32, {64, 3});
    call.set_output(0, of_caller);
    call.run();
    CHECK(fake->counts.pageable == 1);
    CHECK(call.output(0).raw() == of_caller.raw());
  }
  CHECK(fake->counts.even());
}

TEST_CASE("a page-locked output outlives its call, its graph and its device") {
  const FakeDriver fake;
  Tensor kept, gone;
  {
    const ModelPtr model = load_chain(fake);
    CallState call(model);
    set_chain(call, *model, 5);
    call.run();
    kept = call.output(0);
    set_chain(call, *model, 6);
    call.run();
    CHECK(call.output(0).raw() != kept.raw());
    gone = call.output(0);
  }
  CHECK_FALSE(kept.on_device());
  std::ranges::fill(kept.mutable_data<float>(), 3.0F);
  gone = Tensor();
  CHECK(fake->counts.host_memory.made == fake->counts.host_memory.ended + 1);
  kept = Tensor();
  CHECK(fake->counts.even());
}

TEST_CASE("where no pages can be locked, outputs lie in ordinary memory") {
  const FakeDriver fake;
  const ModelPtr model = load_chain(fake);
  CallState call(model);
  set_chain(call, *model, 5);
  call.run();
  fake->host_memory_bytes = 0;
  const Tensor held = call.output(0);
  set_chain(call, *model, 64);
  call.run();
  CHECK(fake->counts.pageable == 1);
  CHECK(call.output(0).shape() == Shape{64, 3});
}
