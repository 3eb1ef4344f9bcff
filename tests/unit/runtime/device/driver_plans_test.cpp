// Code and memory of plans on a GPU behind the fake driver: made when a plan first needs it, kept,
// refused, and limited.

#include <atomic>
#include <thread>

#include "tests/support/fake_driver.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/device/on_driver.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;
using ptx::cuda::Result;
using test::FakeDriver;

TEST_CASE("code is assembled when a plan is the first to need it, or prepare, and then no more") {
  const FakeDriver fake;
  const ModelPtr model = load_model(attention_like, on_driver(fake.open()));
  CHECK(fake->counts.assembled == 0);
  CHECK(model->load_report().kernels_compiled == 0);
  const auto symbols = [&](std::int64_t length) {
    return model->bind_dims({{"B", 2}, {"S", length}});
  };
  model->prepare(symbols(5));
  const int first = fake->counts.assembled;
  CHECK(first > 1);
  CHECK(first < model->load_report().kernels);
  CHECK(model->kernels_compiled_since_load() == first);
  CallState call(model);
  std::mt19937 random(device_seed());
  set_inputs(call, random_inputs(*model, {{"B", 2}, {"S", 5}}, random));
  call.run();
  model->plan_uncached(symbols(5));
  CHECK(fake->counts.assembled == first);
  for (const std::int64_t length : {1, 16, 5}) model->prepare(symbols(length));
  CHECK(fake->counts.assembled <= model->load_report().kernels);
  CHECK(model->kernels_compiled_since_load() == fake->counts.assembled);
}

TEST_CASE("threads that plan the same shape at once assemble its code once") {
  const FakeDriver fake;
  const auto driver = fake.open();
  int alone = 0;
  for (const int count : {1, 8}) {
    const ModelPtr model = load_model(attention_like, on_driver(driver));
    const int before = fake->counts.assembled;
    std::atomic<int> ready{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < count) std::this_thread::yield();
        model->prepare(model->bind_dims({{"B", 2}, {"S", 7}}));
      });
    }
    threads.clear();
    const int assembled = fake->counts.assembled - before;
    if (count == 1) alone = assembled;
    CHECK(assembled == alone);
    CHECK(model->kernels_compiled_since_load() == alone);
  }
}

TEST_CASE("a plan takes code from disk, and what the driver refuses names the group") {
  const FakeDriver fake;
  const TemporaryFolder folder;
  const auto on_disk = [&] { return on_driver(fake.open(), folder.string()); };
  const std::map<std::string, std::int64_t> dims{{"S", 5}};
  {
    const ModelPtr model = load_model(chain, on_disk());
    fake->compiler_log = "ptxas error: no such register";
    fake.fail("cuLinkAddData", Result::InvalidPtx);
    check_error(
        ErrorKind::device, [&] { model->prepare(model->bind_dims(dims)); },
        "making the code of 'matmul_0'", "no such register");
    CHECK(model->shapes_planned() == 0);
    CHECK(fake->counts.assembled == 0);
    CallState call(model);
    set_chain(call, *model, 5);
    call.run();
    CHECK(fake->counts.launches == 3);
  }
  const int assembled = fake->counts.assembled;
  CHECK(assembled > 0);
  const ModelPtr again = load_model(chain, on_disk());
  again->prepare(again->bind_dims(dims));
  CHECK(fake->counts.assembled == assembled);
  CHECK(again->kernels_compiled_since_load() == 0);
}

TEST_CASE("under a limit runs left on streams of the driver end for those that need memory") {
  const FakeDriver fake;
  {
    Options options;
    options.device_memory = 4096;
    const ModelPtr model = load_model(chain, on_driver(fake.open()), options);
    const std::shared_ptr<rkernel::Device> device = model->executable().device();
    std::vector<std::shared_ptr<CallState>> calls;
    for (int i = 0; i < 6; ++i) {
      const auto& call = calls.emplace_back(std::make_shared<CallState>(model));
      call->set_stream(device->make_stream());
      call->set_output(0, device);
      set_chain(*call, *model, 60 + i % 2);
    }
    for (int round = 0; round < 3; ++round) {
      for (const auto& call : calls) call->run();
    }
    for (const auto& call : calls) call->wait();
    check_error(
        ErrorKind::device,
        [&] {
          options.device_memory = 64;
          const ModelPtr small = load_model(chain, on_driver(fake.open()), options);
          CallState call(small);
          set_chain(call, *small, 5);
          call.run();
        },
        "--device-memory");
  }
  CHECK(fake->counts.misuses == 0);
  CHECK(fake->counts.even());
}
