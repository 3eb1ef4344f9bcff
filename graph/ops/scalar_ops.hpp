#pragma once
// The scalar operators as a table; graph/ops/scalar_ops.def says what its columns mean.

#include <cstdint>
#include <span>
#include <string_view>

#include "dyn/dtype.hpp"

namespace dyn::graph {

enum class ScalarOp : std::uint8_t {
#define DYN_SCALAR_OP(name, ...) name,
#include "graph/ops/scalar_ops.def"
};

/// An operator takes operands of these dtypes.
enum class ScalarOperands : std::uint8_t { Numbers, Floats, Integers, Booleans, Any };

enum ScalarTrait : unsigned {
  Plain = 0,
  Tests = 1,  ///< the result is bool, whatever the operands are
  Exact = 2,  ///< where operands are numbers of the dtype the result is one too: nothing is rounded
  Folds = 4,  ///< constants are folded when a model is loaded
  FoldsFloats = 8,  ///< only those of floats
  Logic = 16,       ///< has code for bool as well, whatever a module may ask for
};

/// An operator of so many instructions or more is worth keeping the result of; in f64 it calls libm
/// for each lane.
inline constexpr double function_instructions = 20;

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view text;
  int operands;
  ScalarOperands takes;
  unsigned traits;
  double instructions;
  std::string_view onnx, libm;
  double (*number)(
      double x, double y);  ///< operators that test give 0 or 1; operators of one operand ignore y
  std::int64_t (*integer)(DType dtype, std::int64_t x,
                          std::int64_t y);  ///< wraps around in 64 bits, not yet in the dtype's
  std::string_view summary;

  constexpr bool has(ScalarTrait trait) const { return (traits & trait) != 0; }
};

/// In the order of ScalarOp.
std::span<const ScalarOpInfo> scalar_ops();
inline const ScalarOpInfo& info_of(ScalarOp op) {
  return scalar_ops()[static_cast<std::size_t>(op)];
}

}  // namespace dyn::graph
