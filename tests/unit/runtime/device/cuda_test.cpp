// Models on a GPU behind the fake driver, which executes no kernels: failures there, and contexts
// of other libraries.

#include "src/runtime/load/fallback_target.hpp"
#include "targets/ptx/ptx_target.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;
using ptx::cuda::Result;
using test::FakeDriver;
using test::ForeignContext;

namespace {

TargetFactory on_driver(std::shared_ptr<const ptx::cuda::Driver> driver) {
  return [driver = std::move(driver)](const Options& options, int threads, const Dump& dump) {
    ptx::TargetOptions target;
    target.device = ptx::open_cuda_device("", "", driver);
    target.machine = target.device->machine();
    target.threads = threads;
    return with_fallback(ptx::make_ptx_target(target), [options, threads, dump] {
      return make_fake_target(options, threads, dump);
    });
  };
}

ModelPtr load_chain(const FakeDriver& fake) { return load_model(chain, on_driver(fake.open())); }

void bind(CallState& call, const Model& model, std::int64_t length) {
  std::mt19937 random(1);
  set_inputs(call, random_inputs(model, {{"S", length}}, random));
}

}  // namespace

TEST_CASE("a model on a GPU behind the driver: all is given back at the end") {
  const FakeDriver fake;
  {
    const ModelPtr model = load_chain(fake);
    CallState call(model);
    for (const std::int64_t length : {5, 64, 0, 1}) {
      bind(call, *model, length);
      call.run();
      CHECK(call.output(0).shape() == Shape{length, 3});
    }
    CHECK(fake->counts.launches == 9);
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
    bind(call, *model, 5);
    call.run();
    CHECK(fake.current_device() == 1);
    fake.fail("cuLaunchKernel", Result::LaunchOutOfResources);
    CHECK_THROWS_AS(call.run(), Error);
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
  bind(call, *model, 5);
  call.run();
  fake.fail("cuLaunchKernel", Result::LaunchOutOfResources, 2);
  check_error(
      ErrorKind::device, [&] { call.run(); }, "launching matmul_1 (",
      "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launching 'matmul_1' on NVIDIA A100");
  call.run();
  CHECK(fake->counts.launches == 3 + 1 + 3);
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
  bind(call, *model, 64);
  check_error(
      ErrorKind::device, [&] { call.run(); }, "out of device memory", "intermediate tensors",
      "of 2048 bytes free");
  bind(call, *model, 4);
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
    bind(call, *model, 5);
    fake->asynchronous_failure = Result::IllegalAddress;
    check_error(
        ErrorKind::device, [&] { call.run(); }, "CUDA_ERROR_ILLEGAL_ADDRESS", "the device is lost",
        "running 'matmul_0' to 'matmul_2'");
    check_error(ErrorKind::device, [&] { call.run(); }, "the device is lost");
  }
  const ModelPtr model = load_model(chain, on_driver(driver));
  CallState call(model);
  bind(call, *model, 5);
  call.run();
}
