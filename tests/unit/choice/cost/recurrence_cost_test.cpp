// Into how many blocks and parts a recurrent layer is cut, on a machine with round numbers.

#include <doctest/doctest.h>

#include "src/choice/cost/recurrence_cost.hpp"
#include "tests/support/round_machine.hpp"

using namespace dyn::choice;
using dyn::testing::round_machine;

namespace {

RecurrenceShape lstm_of(std::int64_t directions, std::int64_t batch, std::int64_t steps,
                        std::int64_t hidden) {
  return {.directions = directions,
          .batch = batch,
          .steps = steps,
          .hidden = hidden,
          .gates = 4,
          .cell_operations = 100,
          .may_share = hidden >= 128};
}

}  // namespace

TEST_CASE("a recurrent layer is cut where threads gain by it") {
  const Machine machine = round_machine();
  const auto chosen = [&](const RecurrenceShape& shape, int threads) {
    return select_recurrence(machine, shape, threads);
  };
  SUBCASE("few steps are left to one thread") {
    const RecurrenceChoice choice = chosen(lstm_of(1, 1, 1, 16), 4);
    CHECK(choice.threads == 1);
    CHECK(choice.strategy == RecurrenceStrategy{1, 1});
  }
  SUBCASE("one row of a large state has its columns shared") {
    const RecurrenceChoice choice = chosen(lstm_of(1, 1, 1000, 512), 2);
    CHECK(choice.threads == 2);
    CHECK(choice.strategy == RecurrenceStrategy{1, 2});
  }
  SUBCASE("two directions take a thread each") {
    CHECK(chosen(lstm_of(2, 1, 1000, 512), 2).strategy == RecurrenceStrategy{1, 1});
    CHECK(chosen(lstm_of(2, 1, 1000, 512), 2).threads == 2);
  }
  SUBCASE("a large batch of small states is cut in blocks of rows") {
    CHECK(chosen(lstm_of(1, 64, 1000, 64), 2).strategy == RecurrenceStrategy{2, 1});
    CHECK(chosen(lstm_of(1, 64, 1000, 64), 1).strategy == RecurrenceStrategy{1, 1});
  }
  SUBCASE("states of a block stay near the processor") {
    CHECK(chosen(lstm_of(1, 4000, 10, 1024), 1).strategy.row_blocks == 63);
  }
}

TEST_CASE("a recurrent layer costs more with every size") {
  const Machine machine = round_machine();
  const double seconds = recurrence_cost(machine, lstm_of(1, 4, 100, 128), {}, 1);
  CHECK(recurrence_cost(machine, lstm_of(2, 4, 100, 128), {}, 1) > 1.9 * seconds);
  CHECK(recurrence_cost(machine, lstm_of(1, 9, 100, 128), {}, 1) > seconds);
  CHECK(recurrence_cost(machine, lstm_of(1, 4, 200, 128), {}, 1) > 1.9 * seconds);
  CHECK(recurrence_cost(machine, lstm_of(1, 4, 100, 256), {}, 1) > 2 * seconds);
  CostBreakdown breakdown;
  CHECK(recurrence_cost(machine, lstm_of(1, 4, 100, 128), {1, 2}, 2, &breakdown) ==
        breakdown.seconds);
  CHECK(breakdown.tickets == 2);
}
