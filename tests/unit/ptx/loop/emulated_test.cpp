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

/// The first operand that varies along the outer axis: its stride there becomes one that 31 bits
/// cannot hold, and the axis has one index.
rkernel::Launch check_far_apart(const LoopCase& loop_case, std::int64_t inner,
                                int multiprocessors) {
  int indices = -1;
  const auto builder = build(loop_case, 1, inner, &indices);
  for (rkernel::Operand& operand : builder->problem.operands)
    if (operand.strides.front().constant() != 0) {
      operand.strides.front() = builder->symbol(std::int64_t{1} << 33);
      break;
    }
  return check_emulated(*builder, test_gpu(multiprocessors), 7, tolerance, false,
                        indices_for(*builder, indices, 7));
}

}  // namespace

TEST_CASE("every loop kernel, at sizes around a warp") {
  unsigned seed = first_seed();
  for (const LoopCase& loop_case : loop_cases())
    for (const std::int64_t inner : {0, 1, 33}) check_case(loop_case, 3, inner, 108, seed++);
}

TEST_CASE("loop kernels compute in 64 bits where 31 do not hold an operand's distances") {
  for (const LoopCase& loop_case : loop_cases())
    if (loop_case.axes == 2) check_far_apart(loop_case, 37, 108);
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

TEST_SUITE("full") {
  TEST_CASE("every loop kernel, at awkward sizes") {
    unsigned seed = first_seed();
    for (const LoopCase& loop_case : loop_cases())
      for (const std::int64_t outer : {0, 1, 9})
        for (const std::int64_t inner : {0, 1, 2, 7, 31, 32, 33, 127, 255, 256, 257, 1031})
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
