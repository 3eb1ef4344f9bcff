// Instructions and accesses of loop kernels, counted by the emulator.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "src/choice/gpu/gpu.hpp"
#include "tests/unit/ptx/loop/cases.hpp"
#include "tests/unit/ptx/loop/emulated_loop.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::InstructionClass;
using ptx::KernelCounters;

namespace {

/// A kernel, and the most instructions that one element may take.
struct Measured {
  const char* name;
  std::int64_t outer, inner;
  double most;
};

double elements_of(const dyn::testing::ProblemBuilder& builder) {
  double elements = 1;
  for (const std::int64_t extent : builder.extents) elements *= static_cast<double>(extent);
  return elements;
}

}  // namespace

TEST_CASE("loop kernels divide nothing, and spend few instructions on an element") {
  // Elements of windows are taps.
  for (const auto& [name, outer, inner, most] : {Measured{"softmax", 32, 768, 44},
                                                 {"layer norm", 32, 768, 54},
                                                 {"depthwise", 28, 64, 11},
                                                 {"max pool", 28, 64, 11},
                                                 {"transpose", 64, 128, 42},
                                                 {"sum of f32", 64, 768, 21},
                                                 {"sum of bf16", 64, 768, 17},
                                                 {"sum of f16", 64, 768, 17}}) {
    CAPTURE(name);
    const auto builder = build(find_case(name), outer, inner);
    const KernelCounters counters = counters_of(*builder, test_gpu(1));
    CHECK(counters.all[InstructionClass::LongDivision] == 0);
    CHECK(counters.innermost[InstructionClass::LongDivision] == 0);
    const double instructions =
        static_cast<double>(counters.all.all()) * choice::warp_lanes / elements_of(*builder);
    std::printf("note: %s of %d x %d: %.1f instructions an element\n", name,
                static_cast<int>(outer), static_cast<int>(inner), instructions);
    CHECK(instructions <= most);
    // A transposition reads columns.
    if (std::string_view(name) == "transpose") continue;
    for (const ptx::OperandCounters& operand : counters.operands)
      CHECK(operand.traffic.excess() <= 1.1);
  }
}

TEST_CASE("rows that fit the registers of their threads are read once") {
  for (const char* name : {"softmax", "layer norm"})
    for (const std::int64_t inner : {127, 500, 768, 1024, 4096})
      for (const int multiprocessors : {1, 108}) {
        CAPTURE(std::string(name));
        CAPTURE(inner);
        const auto builder = build(find_case(name), 5, inner);
        const KernelCounters counters = counters_of(*builder, test_gpu(multiprocessors));
        for (std::size_t i = 0; i < counters.operands.size(); ++i) {
          const ptx::OperandCounters& operand = counters.operands[i];
          // The operands of columns are the same for all rows; rows of odd lengths share sectors.
          const bool rows = !(builder->problem.operands[i].strides[0].constant() == 0);
          if (rows && inner % 8 == 0) CHECK(operand.traffic.units == operand.touched);
          CHECK(static_cast<double>(operand.traffic.units) <=
                (rows ? 1.4 : 5.1) * static_cast<double>(operand.touched));
        }
      }
}
