// How many threads are measured, where they read, and that more threads than processors do no harm.

#include <doctest/doctest.h>

#include <atomic>

#include "targets/cpu/measure/read_bandwidth.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;

namespace {

std::atomic<int> reads{0};

std::int64_t read_ends(const void* data, std::int64_t bytes, std::int64_t) {
  const auto* at = static_cast<const volatile char*>(data);
  ++reads;
  return at[0] + at[bytes - 1];
}

void check_levels(int processors) {
  reads = 0;
  const std::vector<dyn::choice::MemoryLevel> levels = measure_levels(read_ends, 100, processors);
  REQUIRE(levels.size() == 4);
  for (const dyn::choice::MemoryLevel& level : levels) {
    REQUIRE(level.bandwidth.size() == 100);
    for (const double bandwidth : level.bandwidth) CHECK(bandwidth > 0);
    CHECK(level.bandwidth.back() == level.bandwidth[static_cast<std::size_t>(processors - 1)]);
  }
  CHECK(reads > 0);
}

}  // namespace

TEST_CASE("measured thread counts: each up to 8, then by a quarter, no more than processors") {
  CHECK(measured_thread_counts(1, 0) == std::vector<int>{1});
  CHECK(measured_thread_counts(2, 64) == std::vector<int>{1, 2});
  CHECK(measured_thread_counts(100, 2) == std::vector<int>{1, 2});
  CHECK(measured_thread_counts(12, 12) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 10, 12});
  const std::vector<int> many = measured_thread_counts(4096, 256);
  CHECK(many.size() < 30);
  CHECK(many.back() == 256);
  for (std::size_t i = 1; i < many.size(); ++i) CHECK(many[i - 1] < many[i]);
}

TEST_CASE("what was not measured lies between its neighbours, or is the last") {
  CHECK(for_each_count({1}, {7}, 3) == std::vector<double>{7, 7, 7});
  CHECK(for_each_count({1, 2, 4}, {10, 20, 50}, 6) == std::vector<double>{10, 20, 35, 50, 50, 50});
}

TEST_CASE("however many threads read, they stay in the buffer") {
  for (const std::int64_t buffer : {1 << 20, 96 << 20, (96 << 20) + 1024}) {
    for (const std::int64_t bytes : {1024, 24 << 10, 1280 << 10, 96 << 20}) {
      if (bytes > buffer) continue;
      for (int thread = 0; thread < 300; ++thread) {
        const std::int64_t offset = part_offset(buffer, bytes, thread);
        CHECK(offset >= 0);
        CHECK(offset % bytes == 0);
        CHECK(offset + bytes <= buffer);
      }
    }
  }
}

TEST_CASE("a cache that others fill is as large as what is read from it fast") {
  constexpr std::int64_t cache = 32 << 20;
  const auto of = [&](std::int64_t kept) {
    return usable_bytes(cache, 80e9, 20e9,
                        [&](std::int64_t bytes) { return bytes <= kept ? 79e9 : 21e9; });
  };
  CHECK(of(cache) == cache);
  CHECK(of(28 << 20) == cache);  // the last eighth holds other data of a program
  CHECK(of(27 << 20) == 24 << 20);
  CHECK(of(21 << 20) == 20 << 20);
  CHECK(of(16 << 20) == 16 << 20);
  CHECK(of(1 << 20) == 16 << 20);
  const auto middle = [&](double bandwidth) {
    return usable_bytes(cache, 80e9, 20e9, [&](std::int64_t) { return bandwidth; });
  };
  CHECK(middle(41e9) == cache);
  CHECK(middle(39e9) == cache / 2);
}

TEST_CASE("bandwidths for more threads than processors") { check_levels(3); }

TEST_SUITE("full") {
  TEST_CASE("bandwidths for more processors than a buffer has parts") { check_levels(90); }
}

TEST_CASE(
    "figures that other programs disturbed are known, and never say that more threads read less") {
  const std::vector<dyn::choice::MemoryLevel> good{
      {"L1", 1, {400, 790}}, {"L2", 2, {270, 500}}, {"L3", 3, {120, 240}}, {"DRAM", 0, {50, 64}}};
  std::vector<dyn::choice::MemoryLevel> bad{
      {"L1", 1, {410, 304}}, {"L2", 2, {278, 199}}, {"L3", 3, {136, 123}}, {"DRAM", 0, {53, 52}}};
  CHECK(!is_disturbed(good, 2));
  CHECK(is_disturbed(bad, 2));
  CHECK(!is_disturbed(bad, 1));  // two threads of one core share its caches
  CHECK(!is_disturbed(best_of(bad, good), 2));
  std::vector<dyn::choice::MemoryLevel> second = good;
  second[1].bandwidth[1] = 240;
  CHECK(is_disturbed(second, 2));
  CHECK(!is_disturbed(second, 1));
  bad = never_slower(without_disturbance(bad, 2));
  CHECK(bad[0].bandwidth == std::vector<double>{410, 820});
  CHECK(bad[1].bandwidth == std::vector<double>{278, 556});
  CHECK(bad[2].bandwidth == std::vector<double>{136, 136});
  CHECK(bad[3].bandwidth == std::vector<double>{53, 53});
}
