#pragma once
// Problems written by hand, with the sizes of their symbols and buffers, and random contents for
// them.

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::testing {

/// Writes problems over symbols, whose values are chosen with them.
class ProblemBuilder {
 public:
  explicit ProblemBuilder(std::string name) { problem.name = std::move(name); }

  /// A symbol with that value; nothing else is known of it.
  graph::Dim symbol(std::int64_t value);
  graph::Dim constant(std::int64_t value) { return dims.constant(value); }
  int axis(std::int64_t extent, rkernel::AxisKind kind = rkernel::AxisKind::Parallel);
  /// An operand with a stride for each axis, on a buffer of `elements`.
  int operand(DType dtype, std::vector<graph::Dim> strides, std::int64_t elements,
              bool written = false);
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
  std::vector<std::int64_t> values;    ///< of the symbols
  std::vector<std::int64_t> extents;   ///< of the axes
  std::vector<std::int64_t> elements;  ///< of each operand's buffer
  rkernel::Problem problem;
};

/// Random normal floats (with `specials` some NaN and infinities), small i32 and i64 of both signs,
/// all bits of other integers random, random booleans.
void fill(const ProblemBuilder& builder, int operand, void* memory, std::mt19937& random,
          bool specials = false);

/// Bytes of each operand's buffer, by fill(); buffers in `given` are taken from there.
std::vector<std::vector<std::uint8_t>> random_contents(
    const ProblemBuilder& builder, unsigned seed, bool specials,
    const std::map<int, std::vector<std::uint8_t>>& given = {});

/// The buffers as the interpreter leaves them.
std::vector<std::vector<std::uint8_t>> interpreted(const ProblemBuilder& builder,
                                                   std::vector<std::vector<std::uint8_t>> contents);

/// Floats within `tolerance`, relative to the largest magnitude wanted and at least 1 (f16 and
/// bf16: or neighbours), integers equal.
void require_close(const ProblemBuilder& builder, int operand, const std::vector<std::uint8_t>& got,
                   const std::vector<std::uint8_t>& wanted, double tolerance);

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace dyn::testing
