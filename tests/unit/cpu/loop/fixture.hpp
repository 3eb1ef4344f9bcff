#pragma once
// Runs problems without a contraction: generated code on every ISA of this CPU, against the
// interpreter.

#include <map>
#include <vector>

#include "targets/cpu/loop/kernel.hpp"
#include "tests/support/problems/problem_builder.hpp"

namespace dyn::testing {

struct RunResult {
  std::int32_t status = 0;
  bool merged = false;                             ///< by a second stage
  std::vector<std::vector<std::uint8_t>> outputs;  ///< bytes of each operand's buffer
};

/// One run on one ISA, in calls of `tickets` tickets (0: all in one), each operand's buffer
/// starting as `initial` says. `plain`: of the class without scratch, where there is one.
/// `small_caches`: planned for a machine whose caches hold next to nothing, so that stores go past
/// them where they can. `threads`: for which the launch is planned.
RunResult run_loop_kernel(const ProblemBuilder& builder, const codegen::Isa& isa,
                          std::vector<std::vector<std::uint8_t>> initial, std::int64_t tickets = 0,
                          bool plain = false, bool small_caches = false, int threads = 2);

/// Fills inputs at random (buffers in `given` are taken from there), runs on all ISAs in one call
/// and ticket by ticket, and checks the outputs against the interpreter within `tolerance`
/// (relative to the largest magnitude of the buffer, at least 1). Also checks that ISAs with FMA,
/// all divisions in tickets, numbers of threads, stores through caches and past them, and code with
/// and without scratch give the same bits.
void check_problem(const ProblemBuilder& builder, unsigned seed, double tolerance = 1e-4,
                   bool specials = false,
                   const std::map<int, std::vector<std::uint8_t>>& given = {});

}  // namespace dyn::testing
