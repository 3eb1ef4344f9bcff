#pragma once
// Runs problems without a contraction: generated code on every ISA of this CPU, against the interpreter.

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/rkernel/problem.hpp"
#include "targets/cpu/loop_kernel.hpp"
#include "tests/unit/codegen/guarded_buffer.hpp"

namespace dyn::testing {

/// Writes problems over symbols, whose values are chosen with them.
class ProblemBuilder {
 public:
  explicit ProblemBuilder(std::string name) { problem.name = std::move(name); }

  /// A symbol with that value, of which nothing else is known.
  graph::Dim symbol(std::int64_t value);
  graph::Dim constant(std::int64_t value) { return dims.constant(value); }
  int axis(std::int64_t extent, rkernel::AxisKind kind = rkernel::AxisKind::Parallel);
  /// An operand with a stride for each axis, on a buffer of `elements`.
  int operand(DType dtype, std::vector<graph::Dim> strides, std::int64_t elements, bool written = false);
  /// The same, dense over `axes` (outermost first), 0 along the others.
  int dense(DType dtype, const std::vector<int>& axes, bool written = false);

  int expr(rkernel::ExprOp op, std::vector<int> args, DType dtype = DType::f32);
  int load(int operand, int gather = -1);
  int number(double value);
  int integer(std::int64_t value);
  int index(int axis);
  int dim(graph::Dim dim);
  void store(int expr, int operand) { problem.stores.push_back({expr, operand}); }

  graph::DimTable dims;
  std::vector<std::int64_t> values;   ///< of the symbols
  std::vector<std::int64_t> extents;  ///< of the axes
  std::vector<std::int64_t> elements;  ///< of each operand's buffer
  rkernel::Problem problem;
};

/// Random normal floats (with `specials` some NaN and infinities), small integers of both signs, random booleans.
void fill(const ProblemBuilder& builder, int operand, void* memory, std::mt19937& random, bool specials = false);

struct RunResult {
  std::int32_t status = 0;
  std::vector<std::vector<std::uint8_t>> outputs;  ///< bytes of each operand's buffer
};

/// One run on one ISA, in calls of `tickets` tickets (0: all in one), each operand's buffer starting as `initial` says. `plain`:
/// of the class without scratch, where there is one.
RunResult run_loop_kernel(const ProblemBuilder& builder, const cpu::Isa& isa, std::vector<std::vector<std::uint8_t>> initial,
                          std::int64_t tickets = 0, bool plain = false);

/// Fills inputs at random (those in `given` are as they are there), runs on all ISAs in one call and ticket by ticket, and checks
/// the outputs against the interpreter within `tolerance` (relative to the largest magnitude of the buffer, at least 1), and
/// that ISAs with FMA, all divisions in tickets, and code with and without scratch, give the same bits.
void check_problem(const ProblemBuilder& builder, unsigned seed, double tolerance = 1e-4, bool specials = false,
                   const std::map<int, std::vector<std::uint8_t>>& given = {});

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace dyn::testing
