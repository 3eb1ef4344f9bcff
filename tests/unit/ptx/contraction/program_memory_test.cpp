// The GPU target's memory of choices: whole programs or none, in bytes that do not grow.

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/contraction/program_memory.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn::ptx;
using dyn::choice::GpuContraction;
using dyn::choice::GpuProgram;

namespace {

constexpr std::size_t table_bytes = 1 << 14;

ProgramKey key_of(std::int64_t m, int vectors = 3) {
  return {GpuContraction{.batch = m % 5, .m = m, .n = 3 * m + 1, .k = 64}, vectors};
}

// All its numbers follow from the sizes, so that a mixture of two programs is noticed. Some
// programs have no region, as where no tile fits.
GpuProgram program_of(std::int64_t m) {
  GpuProgram program{.regions = {}, .seconds = static_cast<double>(m) * 1e-6};
  for (std::int64_t region = 0; region < m % 3; ++region)
    program.regions.push_back(
        {static_cast<std::size_t>(m % 17), region * m, m - region, region, 3 * m + 1});
  return program;
}

bool same(const GpuProgram& a, const GpuProgram& b) {
  return a.regions == b.regions && a.seconds == b.seconds;
}

// Puts programs of sizes up to `most` in and takes them out, on four threads of which two only
// read; returns how many were found.
std::int64_t hammer(ProgramMemory& memory, std::int64_t most, int rounds) {
  std::atomic<std::int64_t> found{0}, wrong{0};
  const auto work = [&](std::uint64_t number) {
    std::mt19937_64 random(dyn::testing::test_seed(7) + number);
    for (int i = 0; i < rounds; ++i) {
      const auto m = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
      if (number % 2 == 0) memory.insert(key_of(m), program_of(m));
      const auto known = memory.find(key_of(m));
      if (!known) continue;
      ++found;
      if (!same(*known, program_of(m))) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  return found;
}

}  // namespace

TEST_CASE(
    "a memory of programs gives back what was put in, or nothing, and keeps to its bytes over a "
    "million sizes") {
  ProgramMemory memory(table_bytes);
  CHECK(memory.bytes() <= table_bytes);
  CHECK(2 * memory.bytes() > table_bytes);
  CHECK_FALSE(memory.find(key_of(5)).has_value());
  for (std::int64_t m = 1; m <= 1'000'000; ++m) memory.insert(key_of(m), program_of(m));
  int found = 0;
  for (std::int64_t m = 999'900; m <= 1'000'000; ++m) {
    const auto known = memory.find(key_of(m));
    CHECK_FALSE(memory.find(key_of(m, 2)).has_value());
    if (!known) continue;
    ++found;
    REQUIRE(same(*known, program_of(m)));
  }
  CHECK(found > 20);  // of some hundred places
  CHECK(memory.bytes() <= table_bytes);
  // A program of more regions than there is room for is not kept.
  GpuProgram large = program_of(2);
  large.regions.push_back(large.regions.front());
  memory.insert(key_of(2'000'000), large);
  CHECK_FALSE(memory.find(key_of(2'000'000)).has_value());
}

TEST_CASE("readers of a memory of programs that others write see whole programs") {
  ProgramMemory crowded(1);  // one set: every insertion takes the place of another
  CHECK(hammer(crowded, 24, 200'000) > 0);
  ProgramMemory wide(table_bytes);
  CHECK(hammer(wide, 1'000'000, 200'000) > 0);
}

TEST_CASE("whatever a program depends on tells keys apart") {
  const GpuContraction base{.batch = 2, .m = 3, .n = 5, .k = 7};
  std::vector<GpuContraction> others(4, base);
  others[0].batch = 3;
  others[1].m = 4;
  others[2].n = 4;
  others[3].k = 4;
  for (const GpuContraction& other : others)
    CHECK(ProgramKey(other, 1).words() != ProgramKey(base, 1).words());
  CHECK(ProgramKey(base, 2).words() != ProgramKey(base, 1).words());
}

TEST_CASE(
    "a kernel that plans more sizes than it remembers, on several threads, plans as one that sees "
    "them first") {
  const dyn::ptx::testing::LoweredGraph graph =
      dyn::ptx::testing::lowered(dyn::ptx::testing::product);
  const dyn::choice::GpuMachine machine = described_gpu("a100");
  const auto make = [&] {
    auto draft =
        ContractionKernel::draft(graph.contraction(), machine, dyn::DType::f32, false, "cuda/test");
    REQUIRE(draft.has_value());
    return dyn::ptx::testing::numbered(*std::move(draft));
  };
  constexpr std::int64_t sizes = 600;
  const auto symbols = [&](std::int64_t i) {
    return graph.symbols({{"B", 1 + i % 2}, {"M", 1 + i * 5}, {"N", 64 + i % 7}, {"K", 512}});
  };
  const auto kernel = make(), other = make();
  std::vector<dyn::rkernel::Launch> expected;
  for (std::int64_t i = 0; i < sizes; ++i) expected.push_back(other->plan({symbols(i), 1}));
  std::atomic<int> wrong{0};
  const auto work = [&](std::uint64_t number) {
    std::mt19937_64 random(dyn::testing::test_seed(9) + number);
    for (std::int64_t i = 0; i < 2 * sizes; ++i) {
      // Half of them among few sizes, which are remembered soon.
      const auto at =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(i % 2 == 0 ? sizes : 20));
      const dyn::rkernel::Launch launch = kernel->plan({symbols(at), 1});
      const dyn::rkernel::Launch& want = expected[static_cast<std::size_t>(at)];
      const bool equal = launch.ints == want.ints && launch.grid.function == want.grid.function &&
                         launch.grid.blocks == want.grid.blocks && launch.tickets == want.tickets &&
                         launch.predicted_seconds == want.predicted_seconds;
      if (!equal) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
