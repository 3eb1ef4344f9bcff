// Loop kernels on the emulator against the interpreter: kernels of models, and random problems, at
// awkward sizes.

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "tests/support/problems/random_problem.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/loop/cases.hpp"
#include "tests/unit/ptx/loop/emulated_loop.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

constexpr double tolerance = 1e-4;

unsigned first_seed() { return static_cast<unsigned>(dyn::testing::test_seed(1000)); }

/// Indices for gathers, each within [-7, 7).
std::map<int, std::vector<std::uint8_t>> indices_for(const dyn::testing::ProblemBuilder& builder,
                                                     int operand, unsigned seed) {
  if (operand < 0) return {};
  std::mt19937 random(seed);
  std::vector<std::int64_t> indices(
      static_cast<std::size_t>(builder.elements[static_cast<std::size_t>(operand)]));
  for (std::int64_t& index : indices) index = static_cast<std::int64_t>(random() % 14) - 7;
  return {{operand, dyn::testing::bytes_of(indices)}};
}

rkernel::Launch check_case(const LoopCase& loop_case, std::int64_t outer, std::int64_t inner,
                           int multiprocessors, unsigned seed) {
  int indices = -1;
  const auto builder = build(loop_case, outer, inner, &indices);
  return check_emulated(*builder, test_gpu(multiprocessors), seed, tolerance, seed % 3 == 0,
                        indices_for(*builder, indices, seed));
}

/// One number of the first operand that is read, and varies along the outer axis, is beyond 31
/// bits: its stride there, where the axis has one index, or the bound of a guard that always holds.
void check_far_apart(const LoopCase& loop_case, std::int64_t inner, bool in_guard) {
  int indices = -1;
  const auto builder = build(loop_case, in_guard ? 5 : 1, inner, &indices);
  const graph::Dim far = builder->symbol(std::int64_t{1} << 33);
  for (rkernel::Operand& operand : builder->problem.operands) {
    if (operand.written || operand.strides.front().constant() == 0) continue;
    if (in_guard)
      operand.guards.push_back(rkernel::range_of(0, builder->constant(0), far));
    else
      operand.strides.front() = far;
    break;
  }
  check_emulated(*builder, test_gpu(108), 7, tolerance, false, indices_for(*builder, indices, 7));
}

}  // namespace

TEST_CASE("every loop kernel, at sizes around a warp") {
  unsigned seed = first_seed();
  for (const LoopCase& loop_case : loop_cases())
    for (const std::int64_t inner : {0, 1, 33}) check_case(loop_case, 3, inner, 108, seed++);
}

TEST_CASE("loop kernels compute in 64 bits where 31 do not hold a launch's numbers") {
  for (const LoopCase& loop_case : loop_cases())
    for (const bool in_guard : {false, true})
      if (loop_case.axes == 2) check_far_apart(loop_case, 37, in_guard);
}

/// The case's operands begin so many elements behind their buffers' first ones: all, or one.
rkernel::Launch check_shifted(const LoopCase& loop_case, std::int64_t inner, int shifted,
                              std::int64_t by, std::int64_t outer = 5) {
  int indices = -1;
  const auto builder = build(loop_case, outer, inner, &indices);
  for (int i = 0; i < static_cast<int>(builder->problem.operands.size()); ++i) {
    rkernel::Operand& operand = builder->problem.operands[static_cast<std::size_t>(i)];
    if (i == indices || (shifted >= 0 && i != shifted)) continue;
    operand.offset = operand.offset + builder->symbol(by);
    builder->elements[static_cast<std::size_t>(i)] += by;
  }
  return check_emulated(*builder, test_gpu(1), 11, tolerance, false,
                        indices_for(*builder, indices, 11));
}

TEST_CASE("loop kernels take vectors where all addresses are aligned, and elements elsewhere") {
  for (const LoopCase& loop_case : loop_cases()) {
    if (loop_case.axes != 2) continue;
    for (const std::int64_t inner : {64, 65}) {
      check_shifted(loop_case, inner, -1, 8);
      check_shifted(loop_case, inner, -1, 1);
      check_shifted(loop_case, inner, 0, 2);
    }
  }
  const LoopCase& sum = find_case("sum of f32");
  CHECK(check_shifted(sum, 1024, -1, 4).tickets == 5);
  CHECK(check_shifted(sum, 1024, -1, 2).tickets == 20);
  CHECK(check_shifted(sum, 1024, 4, 4).tickets == 5);
  CHECK(check_shifted(sum, 1024, 4, 1).tickets == 20);
  CHECK(check_shifted(sum, 1023, -1, 4).tickets == 20);
}

TEST_CASE("squares are turned in registers where they are whole, and elements taken elsewhere") {
  for (const char* name : {"transpose", "transpose of i64", "transpose of bf16",
                           "transpose of bool", "batched transpose", "sum across"})
    for (const std::int64_t outer : {8, 16, 32, 96, 12, 33})
      for (const std::int64_t inner : {4, 8, 40, 64, 6, 65})
        check_case(find_case(name), outer, inner, 1, static_cast<unsigned>(outer * inner));
  // Threads of 16 elements, where addresses allow.
  const auto tickets = [](std::int64_t outer, std::int64_t inner) {
    return check_case(find_case("transpose"), outer, inner, 1, 1).tickets;
  };
  CHECK(tickets(64, 128) == 2);
  CHECK(tickets(72, 128) == 3);
  CHECK(tickets(68, 128) == 34);
  CHECK(tickets(64, 126) == 32);
  CHECK(check_shifted(find_case("transpose"), 64, -1, 4, 64).tickets == 1);
  CHECK(check_shifted(find_case("transpose"), 64, 0, 2, 64).tickets == 16);
  CHECK(check_shifted(find_case("transpose"), 64, 1, 1, 64).tickets == 16);
}

TEST_CASE("the elements behind a row's last whole vector are taken one by one") {
  for (const LoopCase& loop_case : loop_cases())
    for (const std::int64_t inner : {1, 3, 4, 5, 31, 33, 127, 1021})
      check_case(loop_case, 1, inner, 1, static_cast<unsigned>(inner));
}

TEST_CASE("a gathered index out of range is reported and nothing is read there") {
  for (const char* name : {"embedding", "lookup"}) {
    int operand = -1;
    const auto builder = build(find_case(name), 5, 40, &operand);
    for (const std::int64_t bad : {std::int64_t{7}, std::int64_t{-8}, std::int64_t{1} << 62}) {
      auto given = indices_for(*builder, operand, 1);
      std::memcpy(given[operand].data() + 3 * sizeof bad, &bad, sizeof bad);
      const EmulatedLoop got = run_emulated(
          *builder, test_gpu(108), dyn::testing::random_contents(*builder, 1, false, given));
      CHECK(got.status == 1);
      CHECK(got.reports == "");
    }
  }
}

TEST_CASE("few long rows go to blocks, many short ones to warps") {
  const LoopCase& softmax = find_case("softmax");
  CHECK(check_case(softmax, 2, 1021, 108, 1).grid.blocks == 2);
  CHECK(check_case(softmax, 20, 31, 108, 1).grid.blocks == 3);
}

TEST_CASE("rows around the longest that threads keep") {
  for (const char* name : {"softmax", "softmax of 16-bit floats", "layer norm", "strided rows"})
    for (const std::int64_t inner : {508, 512, 513, 1016, 1024, 1028, 4088, 4096, 4100})
      for (const int multiprocessors : {1, 108})
        check_case(find_case(name), 3, inner, multiprocessors, static_cast<unsigned>(inner));
}

TEST_SUITE("full") {
  TEST_CASE("every loop kernel, at awkward sizes") {
    unsigned seed = first_seed();
    for (const LoopCase& loop_case : loop_cases())
      for (const std::int64_t outer : {0, 1, 9})
        for (const std::int64_t inner : {0, 1, 2, 4, 7, 31, 32, 33, 127, 255, 256, 257, 1028, 1031})
          for (const int multiprocessors : {1, 108})
            check_case(loop_case, outer, inner, multiprocessors, seed++);
  }

  TEST_CASE("blocks take tickets until there are none") {
    // One multiprocessor starts 32 blocks.
    for (const char* name : {"element-wise", "embedding"}) {
      const rkernel::Launch launch = check_case(find_case(name), 41, 257, 1, 1);
      CHECK(launch.tickets > launch.grid.blocks);
    }
    const rkernel::Launch launch = check_case(find_case("layer norm"), 300, 5, 1, 1);
    CHECK(launch.tickets > launch.grid.blocks);
  }

  TEST_CASE("random problems give what the interpreter gives") {
    const unsigned first = first_seed(),
                   count = static_cast<unsigned>(dyn::testing::test_rounds(100, 3));
    for (unsigned seed = first; seed < first + count; ++seed) {
      const auto builder = dyn::testing::random_problem(seed, dyn::testing::RandomDtypes::Gpu);
      for (const int multiprocessors : {1, 108})
        check_emulated(*builder, test_gpu(multiprocessors), seed, tolerance, seed % 4 == 0);
    }
  }
}
