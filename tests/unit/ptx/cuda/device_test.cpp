// A GPU behind the fake driver: its numbers, memory, contexts.

#include <thread>

#include "targets/ptx/cuda/query.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dyn::test {
namespace {

using ptx::cuda::Result;

TEST_CASE("cuda device: the driver's numbers, and the rest from the nearest description") {
  const FakeDriver fake;
  const choice::GpuMachine machine = fake.device()->machine();
  CHECK(machine.product == "NVIDIA A100-SXM4-80GB");
  CHECK(machine.compute_capability == 80);
  CHECK(machine.multiprocessors == 107);
  CHECK(machine.clock_hz == doctest::Approx(1.409e9));
  CHECK(machine.shared_bytes_per_multiprocessor == 167000);
  CHECK(machine.shared_bytes_per_block == 166000);
  CHECK(machine.registers_per_multiprocessor == 65536);
  CHECK(machine.blocks_per_multiprocessor == 31);
  CHECK(machine.l2_bytes == 41000000);
  CHECK(machine.memory_bytes == std::int64_t{1} << 30);
  CHECK(machine.memory_bytes_per_second == doctest::Approx(2 * 1.592e9 * 5120 / 8));
  const choice::GpuMachine described = ptx::nearest_description("NVIDIA A100-SXM4-80GB", 80);
  CHECK(machine.f32_fma == described.f32_fma);
  CHECK(machine.f16_mma_fma == described.f16_mma_fma);
  CHECK(machine.i8_mma_fma == described.i8_mma_fma);
  CHECK(machine.launch_seconds == described.launch_seconds);
}

TEST_CASE("cuda device: all GPUs are listed, old ones too") {
  const FakeDriver fake;
  fake->devices = 3;
  fake->capability = 75;
  const auto machines = ptx::cuda_devices(*fake.open());
  REQUIRE(machines.size() == 3);
  CHECK(machines[2].compute_capability == 75);
}

TEST_CASE("cuda device: an index that there is not") {
  const FakeDriver fake;
  fake->devices = 2;
  for (const char* gpu : {"2", "-1", "a100", "1x", "99999999999"}) {
    const std::string message = message_of(ErrorKind::user, [&] { fake.device(gpu); });
    CHECK_CONTAINS(message, std::string("there is no GPU \"") + gpu + "\"");
    CHECK_CONTAINS(message, "an index from 0 to 1");
  }
  CHECK(fake.device("1")->name() == "NVIDIA A100-SXM4-80GB");
}

TEST_CASE("cuda device: a GPU older than sm_80") {
  const FakeDriver fake;
  fake->capability = 75;
  const std::string message = message_of(ErrorKind::unsupported, [&] { fake.device(); });
  CHECK_CONTAINS(message, "has compute capability 7.5; dyn needs 8.0 or more");
  CHECK(fake->counts.contexts == FakeBalance{});
}

TEST_CASE("cuda device: one device and one context for all who hold it") {
  const FakeDriver fake;
  fake->devices = 2;
  const auto driver = fake.open();
  auto first = ptx::open_cuda_device("", "", driver), same = ptx::open_cuda_device("0", "", driver),
       other = ptx::open_cuda_device("1", "", driver);
  CHECK(first == same);
  CHECK(first != other);
  CHECK(fake->counts.contexts == FakeBalance{2, 0});
  first.reset();
  CHECK(fake->counts.contexts == FakeBalance{2, 0});
  same.reset();
  CHECK(fake->counts.contexts == FakeBalance{2, 1});
  other.reset();
  CHECK(fake->counts.even());
}

TEST_CASE("cuda device: a context that cannot be made") {
  const FakeDriver fake;
  fake.fail("cuDevicePrimaryCtxRetain", Result::OutOfMemory);
  CHECK_CONTAINS(message_of(ErrorKind::device, [&] { fake.device(); }),
                 "NVIDIA A100-SXM4-80GB (cuda 0): making a context: CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(fake.device() != nullptr);
}

TEST_CASE(
    "cuda device: out of memory says what was wanted and what is free, and the device goes on") {
  const FakeDriver fake;
  fake->memory_bytes = 1 << 20;
  const auto device = fake.device();
  {
    const rkernel::DeviceBlock block(*device, 1000000, "weights");
    CHECK(block.address() % 256 == 0);
    const std::string message =
        message_of(ErrorKind::device, [&] { device->allocate(100000, "the arena"); });
    CHECK_CONTAINS(
        message,
        "out of device memory: 100000 bytes wanted for the arena, 48576 of 1048576 bytes free");
    CHECK(rkernel::DeviceBlock(*device, 40000, "a smaller arena").address() != 0);
    CHECK(rkernel::DeviceBlock(*device, 0, "nothing").address() != 0);
  }
  CHECK(fake->counts.memory == FakeBalance{3, 3});
  CHECK(fake->counts.pushes.even());
}

TEST_CASE("cuda device: a foreign context stays current, on every path") {
  const FakeDriver fake;
  {
    const ForeignContext foreign(fake);
    const auto device = ptx::open_cuda_device("0", "", foreign.driver());
    CHECK(fake.current_device() == 1);
    rkernel::DeviceBlock block(*device, 64, "a block");
    CHECK(fake.current_device() == 1);
    CHECK_THROWS_AS(device->allocate(std::size_t{1} << 40, "too much"), Error);
    CHECK(fake.current_device() == 1);
    const auto stream = device->make_stream();
    int value = 7;
    stream->upload(block.address(), &value, sizeof value);
    stream->clear(block.address(), 2);
    stream->download(&value, block.address(), sizeof value);
    stream->synchronise();
    CHECK(fake.current_device() == 1);
    fake.fail("cuStreamSynchronize", Result::IllegalAddress);
    CHECK_THROWS_AS(stream->synchronise(), Error);
    CHECK(fake.current_device() == 1);
  }
  CHECK(fake->counts.even());
}

TEST_CASE("cuda device: memory of this GPU, whoever allocated it, and memory of others") {
  const FakeDriver fake;
  const ForeignContext foreign(fake);
  const auto& driver = foreign.driver();
  const dyn::testing::TemporaryFolder folder;
  const auto device = ptx::open_cuda_device("0", "", driver),
             same = ptx::open_cuda_device("0", folder.path().string(), driver),
             other = ptx::open_cuda_device("1", "", driver);
  CHECK(device->shares_memory_with(*same));
  CHECK(!device->shares_memory_with(*other));
  ptx::cuda::DevicePointer of_other = 0;  // by another library, in the other GPU's context
  REQUIRE(driver->cuMemAlloc(&of_other, 300) == Result::Success);
  CHECK(device->bytes_from(of_other) == 0);
  CHECK(other->bytes_from(of_other) == 300);
  const rkernel::DeviceBlock block(*device, 1000, "a block");
  CHECK(device->bytes_from(block.address()) == 1000);
  CHECK(device->bytes_from(block.address() + 48) == 952);
  CHECK(other->bytes_from(block.address()) == 0);
  const int on_host = 0;
  CHECK(device->bytes_from(reinterpret_cast<std::uintptr_t>(&on_host)) == 0);
  CHECK(driver->cuMemFree(of_other) == Result::Success);
  CHECK(device->bytes_from(of_other) == 0);
}

TEST_CASE("cuda device: used from several threads, none of which keeps a context") {
  const FakeDriver fake;
  const auto driver = fake.open();
  std::vector<std::jthread> threads;
  std::atomic<int> current{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto device = ptx::open_cuda_device("", "", driver);
        const rkernel::DeviceBlock block(*device, 128, "a block");
        device->make_stream()->clear(block.address(), 128);
      }
      if (fake.current_device() >= 0) ++current;
    });
  }
  threads.clear();
  CHECK(current == 0);
  CHECK(fake->counts.even());
}

}  // namespace
}  // namespace dyn::test
