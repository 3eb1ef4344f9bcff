#include "tests/support/round_machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/choice/cost/rest_columns.hpp"

namespace dyn::testing {
namespace {

double log_uniform(std::mt19937_64& random, double least, double most) {
  return std::exp(std::uniform_real_distribution(std::log(least), std::log(most))(random));
}

std::int64_t random_size(std::mt19937_64& random, double most) {
  return random() % 4 == 0 ? static_cast<std::int64_t>(random() % 34)
                           : std::llround(log_uniform(random, 1, most));
}

bool chance(std::mt19937_64& random, std::uint64_t one_in) { return random() % one_in == 0; }

}  // namespace

choice::Machine round_machine() {
  choice::Machine machine;
  machine.name = "round";
  machine.threads = 2;
  machine.vector_width = 16;
  machine.panel = 32;
  machine.seconds_per_vector_operation = 1e-9;
  machine.seconds_per_call = 20e-9;
  machine.seconds_per_ticket = 100e-9;
  machine.seconds_per_wakeup = 1e-6;
  machine.levels = {{"L1", 48 << 10, {128e9, 256e9}},
                    {"L2", 1 << 20, {64e9, 128e9}},
                    {"L3", 32 << 20, {20e9, 40e9}},
                    {"DRAM", 0, {10e9, 15e9}}};
  for (int rows = 1; rows <= 14; ++rows)
    machine.tiles.push_back({rows, 32, std::max(rows, 4) * 1e-9});
  for (int rows = 1; rows <= 5; ++rows)
    machine.tiles.push_back({rows, 64, std::max(2 * rows, 4) * 1e-9});
  return machine;
}

choice::Machine round_machine(int threads) {
  choice::Machine machine = round_machine();
  machine.threads = threads;
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    std::vector<double>& bandwidth = machine.levels[level].bandwidth;
    const bool own = level < 2;
    while (bandwidth.size() < static_cast<std::size_t>(threads))
      bandwidth.push_back(bandwidth.back() + (own ? bandwidth.front() : bandwidth.front() / 2));
    bandwidth.resize(static_cast<std::size_t>(threads));
  }
  return machine;
}

choice::Machine random_machine(std::mt19937_64& random, int threads) {
  choice::Machine machine = round_machine(threads);
  if (chance(random, 2)) {
    machine.vector_width = 8;
    machine.panel = 16;
  }
  machine.tiles.clear();
  const int accumulators = machine.panel == 16 ? 12 : 28;
  for (int columns = machine.vector_width; columns <= 4 * machine.panel; columns *= 2) {
    const int vectors = std::max(columns, machine.panel) / machine.vector_width;
    for (int rows = 1; rows * vectors <= accumulators; ++rows)
      machine.tiles.push_back(
          {rows, columns, std::max(rows * vectors / 2, 4) * log_uniform(random, 0.5e-9, 2e-9)});
  }
  machine.dot_rows = {0, 8, 8, 4, 4, 2, 2, 1, 1};
  for (double* seconds : {&machine.seconds_per_vector_operation, &machine.seconds_per_call,
                          &machine.seconds_per_ticket, &machine.seconds_per_wakeup}) {
    *seconds *= log_uniform(random, 0.2, 5);
  }
  for (choice::MemoryLevel& level : machine.levels) {
    const double factor = log_uniform(random, 0.2, 5);
    for (double& bandwidth : level.bandwidth) bandwidth *= factor;
    level.bytes = std::llround(static_cast<double>(level.bytes) * log_uniform(random, 0.5, 2));
  }
  return machine;
}

choice::ContractionShape random_contraction(std::mt19937_64& random,
                                            const choice::Machine& machine) {
  using rkernel::LaneAxis;
  choice::ContractionShape shape{.batch = chance(random, 4) ? 1 + random_size(random, 16) : 1,
                                 .m = random_size(random, 3000),
                                 .n = random_size(random, 3000),
                                 .k = random_size(random, 8000)};
  shape.lanes = std::array{LaneAxis::N, LaneAxis::N, LaneAxis::M, LaneAxis::K}.at(random() % 4);
  // Deep sums of few outputs, and rows that share cache sets.
  if (chance(random, 3)) shape.k = 1024 * (1 + static_cast<std::int64_t>(random() % 8));
  if (chance(random, 3))
    shape.m = 1 + static_cast<std::int64_t>(random() % 60),
    shape.n = 1 + static_cast<std::int64_t>(random() % 200);
  if (shape.lanes == LaneAxis::M)
    shape.m =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(machine.vector_width + 1));
  if (shape.lanes == LaneAxis::K)
    shape.n = 1 + static_cast<std::int64_t>(random() % (machine.dot_rows.size() - 1));
  shape.b_packed = chance(random, 2);
  shape.must_pack_b = !shape.b_packed && chance(random, 3);
  if (!shape.b_packed) shape.b_row_bytes = 4 * shape.n;
  shape.must_copy_a = chance(random, 4);
  shape.a_row_bytes = 4 * (shape.k + (chance(random, 4) ? 3 : 0));
  if (shape.must_copy_a && chance(random, 2)) {
    shape.a_slides = true;
    shape.a_distinct = static_cast<float>(log_uniform(random, 0.05, 1));
    shape.a_runs = static_cast<int>(1 + random() % 50);
  }
  if (shape.b_packed && chance(random, 4)) shape.b_dtype = DType::bf16;
  shape.epilogue_operations = static_cast<double>(2 + random() % 8);
  shape.epilogue_bytes = static_cast<double>(4 * (1 + random() % 3));
  if (shape.lanes == LaneAxis::N && chance(random, 2))
    shape.inlined_rows = machine.most_rows(machine.panel) - static_cast<int>(random() % 3);
  if (shape.a_slides && chance(random, 2)) {
    const auto windows = static_cast<std::int64_t>(log_uniform(random, 1, 400));
    shape.a_strips = {
        .row_elements = windows * static_cast<std::int64_t>(log_uniform(random, 1, 300)),
        .windows = windows,
        .step = 1 + static_cast<std::int64_t>(random() % 3)};
    shape.a_strips.taps = shape.a_strips.step + static_cast<std::int64_t>(random() % 8);
  }
  if (chance(random, 3))
    shape.fixed_slices = rkernel::fixed_slices(shape.batch * shape.m * shape.n, shape.k);
  shape.a_level = random() % machine.levels.size();
  shape.b_level = random() % machine.levels.size();
  const bool may_have_rows = shape.lanes == LaneAxis::N && shape.b_packed &&
                             shape.b_dtype == DType::f32 && !shape.must_copy_a;
  shape.rest_as_rows =
      may_have_rows &&
      choice::packed_rest(machine.vector_width, machine.panel, shape.n, shape.k) > 0 &&
      chance(random, 2);
  shape.may_dot_rest = shape.lanes == LaneAxis::N && !shape.rest_as_rows && chance(random, 2);
  return shape;
}

}  // namespace dyn::testing
