#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "targets/cpu/attention/choices.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;

namespace {

bool same(const AttentionChoice& a, const AttentionChoice& b) {
  return a.strategy == b.strategy && a.threads == b.threads && a.seconds == b.seconds &&
         a.considered == b.considered;
}

}  // namespace

TEST_CASE(
    "a remembered choice for attention is the one that was made, whatever differs between shapes") {
  const Machine machine = dyn::testing::round_machine(2);
  const dyn::cpu::AttentionChoices choices;
  std::mt19937_64 random(dyn::testing::test_seed(3));
  const auto size = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random() % most) + 1;
  };
  std::vector<AttentionShape> shapes;
  for (int i = 0; i < 20; ++i) {
    const AttentionShape base{.batch = size(12),
                              .queries = size(300),
                              .keys = size(900),
                              .depth = size(96),
                              .value_depth = size(96)};
    std::vector<AttentionShape> all(11, base);
    ++all[1].batch, ++all[2].queries, ++all[3].keys, ++all[4].depth, ++all[5].value_depth;
    all[6].causal = all[7].masked = all[8].fixed_order = true;
    all[9].keys_unit = all[10].values_unit = false;
    shapes.insert(shapes.end(), all.begin(), all.end());
  }
  for (int round = 0; round < 2; ++round) {
    for (const AttentionShape& shape : shapes) {
      for (const int threads : {1, 2})
        REQUIRE(same(choices.choose(machine, shape, threads),
                     select_attention(machine, shape, threads)));
    }
  }
}
