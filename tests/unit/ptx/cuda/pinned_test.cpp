// Page-locked memory of a device behind the fake driver.

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "targets/ptx/cuda/pinned.hpp"
#include "tests/support/fake_driver.hpp"

namespace dyn::test {
namespace {

using ptx::cuda::PinnedMemory;
using ptx::cuda::Result;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST_CASE("pinned memory: a block is used again for what fills the half of it or more") {
  const FakeDriver fake;
  const auto device = fake.device();
  const void* first = device->host_memory(100'000).get();
  CHECK(device->host_memory(60'000).get() == first);
  CHECK(device->host_memory(100'001).get() == first);  // the same pages
  CHECK(fake->counts.host_memory.made == 1);
  CHECK(device->host_memory(10'000).get() != first);
  CHECK(device->host_memory(200'000).get() != first);
  CHECK(fake->counts.host_memory.made == 3);
  const auto held = device->host_memory(100'000), other = device->host_memory(100'000);
  CHECK(held.get() == first);
  CHECK(other.get() != first);
  CHECK(reinterpret_cast<std::uintptr_t>(other.get()) % 64 == 0);
}

TEST_CASE("pinned memory: so much lies idle at most, and what lay there longest goes first") {
  const FakeDriver fake;
  const auto device = fake.device();
  auto a = device->host_memory(100 * mebibyte), b = device->host_memory(120 * mebibyte),
       c = device->host_memory(130 * mebibyte);
  const void* const last = c.get();
  a.reset();
  b.reset();
  CHECK(fake->counts.host_memory.ended == 0);
  c.reset();
  CHECK(fake->counts.host_memory.ended == 1);
  CHECK(device->host_memory(125 * mebibyte).get() == last);
  device->host_memory(PinnedMemory::most_idle_bytes + 1);
  CHECK(fake->counts.host_memory.even());
}

TEST_CASE(
    "pinned memory: where no more can be had, idle blocks are freed, and then there is none") {
  const FakeDriver fake;
  const auto device = fake.device();
  device->host_memory(mebibyte);
  fake.fail("cuMemHostAlloc", Result::OutOfMemory);
  CHECK(device->host_memory(8 * mebibyte) != nullptr);
  CHECK(fake->counts.host_memory.made == 2);
  CHECK(fake->counts.host_memory.ended == 1);
  fake->host_memory_bytes = 9 * mebibyte;
  CHECK(device->host_memory(10 * mebibyte) == nullptr);
}

TEST_CASE("pinned memory: a block outlives its device, and nothing is left") {
  const FakeDriver fake;
  auto device = fake.device();
  auto idle = device->host_memory(5), held = device->host_memory(100'000);
  idle.reset();
  CHECK(fake->counts.host_memory.ended == 0);
  device.reset();
  CHECK(fake->counts.host_memory.ended == 1);
  CHECK(fake->counts.contexts.ended == 0);
  std::memset(held.get(), 7, 100'000);
  held.reset();
  CHECK(fake->counts.even());
}

TEST_CASE("pinned memory: four threads never share a block") {
  const FakeDriver fake;
  std::vector<int> wrong(4);
  {
    const auto device = fake.device();
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int round = 0; round < 200; ++round) {
          const std::size_t bytes = 1 + random() % 50'000;
          const auto block = device->host_memory(bytes);
          auto* data = static_cast<unsigned char*>(block.get());
          std::memset(data, thread + 1, bytes);
          std::this_thread::yield();
          for (std::size_t i = 0; i < bytes; ++i) wrong[thread] += data[i] != thread + 1;
        }
      });
    }
  }
  CHECK(wrong == std::vector<int>(4));
  CHECK(fake->counts.host_memory.made < 100);
  CHECK(fake->counts.even());
}

}  // namespace
}  // namespace dyn::test
