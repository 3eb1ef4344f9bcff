#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "src/choice/cpu/choice_memory.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;

namespace {

constexpr std::size_t table_bytes = 1 << 18;

ContractionShape shape_of(std::int64_t m) {
  return {.m = m, .n = 3 * m + 1, .k = 64, .a_level = 1, .b_level = 2};
}

// All its numbers follow from the shape, so that a mixture of two choices is noticed.
Choice choice_of(std::int64_t m) {
  Choice choice{.program = {},
                .threads = static_cast<int>(m % 7) + 1,
                .seconds = static_cast<double>(m) * 1e-6,
                .considered = static_cast<int>(m % 1000)};
  for (std::int64_t region = 0; region <= m % 4; ++region) {
    Strategy strategy{.tile_rows = static_cast<int>(m % 14) + 1,
                      .tile_columns = 32,
                      .block_m = m + region,
                      .block_n = m,
                      .block_k = m / 2 + 1,
                      .split_k = 1 + m % 3};
    strategy.copy_a = m % 2 == 0;
    strategy.direct_b = m % 3 == 0;
    strategy.dot_rest = m % 5 == 0;
    strategy.lanes = static_cast<LaneAxis>(m % 3);
    choice.program.regions.push_back({region, m, region * 2, m, strategy});
  }
  return choice;
}

bool same(const Choice& a, const Choice& b) {
  if (a.threads != b.threads || a.seconds != b.seconds || a.considered != b.considered ||
      a.program.regions.size() != b.program.regions.size())
    return false;
  for (std::size_t i = 0; i < a.program.regions.size(); ++i) {
    const Region &x = a.program.regions[i], &y = b.program.regions[i];
    if (x.m0 != y.m0 || x.m != y.m || x.n0 != y.n0 || x.n != y.n || !(x.strategy == y.strategy))
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a memory of choices gives back what was put in, or nothing, and never grows") {
  ChoiceMemory memory(table_bytes);
  CHECK(memory.bytes() <= table_bytes);
  CHECK_FALSE(memory.find(ChoiceKey(shape_of(5), 1)).has_value());
  memory.insert(ChoiceKey(shape_of(5), 1), choice_of(5));
  CHECK(same(memory.find(ChoiceKey(shape_of(5), 1)).value(), choice_of(5)));
  CHECK_FALSE(memory.find(ChoiceKey(shape_of(5), 2)).has_value());
  int found = 0;
  for (std::int64_t m = 1; m <= 1'000'000; ++m)
    memory.insert(ChoiceKey(shape_of(m), 1), choice_of(m));
  for (std::int64_t m = 999'000; m <= 1'000'000; ++m) {
    const auto known = memory.find(ChoiceKey(shape_of(m), 1));
    if (!known) continue;
    ++found;
    REQUIRE(same(*known, choice_of(m)));
  }
  CHECK(found > 100);
  CHECK(memory.bytes() <= table_bytes);
}

TEST_CASE("a set holds choices of different numbers of regions, and forgets the oldest") {
  ChoiceMemory memory(1);  // one set
  const auto holds = [&](std::int64_t m) {
    const auto known = memory.find(ChoiceKey(shape_of(m), 1));
    if (known) REQUIRE(same(*known, choice_of(m)));
    return known.has_value();
  };
  const auto put = [&](std::int64_t m) { memory.insert(ChoiceKey(shape_of(m), 1), choice_of(m)); };
  // Choices of m have m % 4 + 1 regions: larger ones take the places of smaller ones, and the other
  // way round.
  std::vector<std::int64_t> order;
  std::mt19937_64 random(dyn::testing::test_seed(11));
  for (int i = 0; i < 400; ++i) {
    const auto m = static_cast<std::int64_t>(random() % 40) + 1;
    const bool known = std::find(order.begin(), order.end(), m) != order.end();
    REQUIRE(holds(m) == known);
    put(m);
    if (!known) order.push_back(m);
    if (order.size() > 4) order.erase(order.begin());
    for (const std::int64_t each : order) REQUIRE(holds(each));
  }
  // A choice of more regions than there is room for is not kept, and takes no other's place.
  Choice large = choice_of(3);
  large.program.regions.push_back(large.program.regions.front());
  memory.insert(ChoiceKey(shape_of(1000), 1), large);
  CHECK_FALSE(memory.find(ChoiceKey(shape_of(1000), 1)).has_value());
  for (const std::int64_t each : order) CHECK(holds(each));
}

TEST_CASE("shapes as models have them spread over all sets") {
  // Half as many choices as there are places, one after the other in sizes that differ by little,
  // or by round numbers. In sets of four places that are chosen at random, 96 % are kept.
  const ChoiceMemory empty(table_bytes);
  const auto count = static_cast<std::int64_t>(empty.bytes() / 1000);
  const std::vector<std::function<ContractionShape(std::int64_t)>> families{
      [](std::int64_t i) { return ContractionShape{.m = i, .n = 768, .k = 768}; },
      [](std::int64_t i) { return ContractionShape{.m = 64 * i, .n = 768, .k = 3072}; },
      [](std::int64_t i) { return ContractionShape{.m = i % 16, .n = 1024 * (i / 16), .k = 1024}; },
      [](std::int64_t i) {
        return ContractionShape{
            .batch = 12, .m = i, .n = i, .k = 64, .b_row_bytes = 4 * i, .a_row_bytes = 256};
      },
      [](std::int64_t i) { return ContractionShape{.m = 1, .n = i << 20, .k = i << 12}; }};
  for (const auto& shape : families) {
    ChoiceMemory memory(table_bytes);
    for (std::int64_t i = 1; i <= count; ++i) memory.insert(ChoiceKey(shape(i), 2), choice_of(i));
    std::int64_t kept = 0;
    for (std::int64_t i = 1; i <= count; ++i)
      kept += memory.find(ChoiceKey(shape(i), 2)).has_value() ? 1 : 0;
    CHECK(10 * kept >= 9 * count);
  }
}

TEST_CASE("whatever a choice depends on tells keys apart") {
  const ContractionShape base{.batch = 2,
                              .m = 3,
                              .n = 5,
                              .k = 7,
                              .b_row_bytes = 20,
                              .a_row_bytes = 28,
                              .epilogue_operations = 2,
                              .epilogue_bytes = 8,
                              .a_level = 1,
                              .b_level = 1};
  std::vector<ContractionShape> others(24, base);
  others[0].batch = 3;
  others[1].m = 4;
  others[2].n = 4;
  others[3].k = 4;
  others[4].b_packed = false;
  others[5].must_pack_b = true;
  others[6].must_copy_a = true;
  others[7].a_row_bytes = 32;
  others[8].b_row_bytes = 32;
  others[9].epilogue_operations = 3;
  others[10].inlined_rows = 14;
  others[11].epilogue_bytes = 12;
  others[12].fixed_slices = 2;
  others[13].a_level = 2;
  others[14].lanes = LaneAxis::M;
  others[15].may_dot_rest = true;
  others[16].rest_as_rows = true;
  others[17].a_slides = true;
  others[18].a_distinct = 0.5F;
  others[19].a_runs = 3;
  others[20].a_strips.row_elements = 64;
  others[21].a_strips.windows = 2;
  others[22].a_strips.step = 1;
  others[23].a_strips.taps = 3;
  for (const ContractionShape& other : others)
    CHECK(ChoiceKey(other, 1).words() != ChoiceKey(base, 1).words());
  CHECK(ChoiceKey(base, 2).words() != ChoiceKey(base, 1).words());
}

TEST_CASE("readers of a memory of choices that others write see whole choices") {
  ChoiceMemory memory(1);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, found{0};
  const auto work = [&](std::uint64_t number) {
    std::mt19937_64 random(dyn::testing::test_seed(7) + number);
    while (!stop) {
      const auto m = static_cast<std::int64_t>(random() % 24) + 1;
      const ChoiceKey key(shape_of(m), 1);
      if (number % 2 == 0) memory.insert(key, choice_of(m));
      const auto known = memory.find(key);
      if (known) ++found;
      if (known && !same(*known, choice_of(m))) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(found > 0);
  CHECK(wrong == 0);
}
