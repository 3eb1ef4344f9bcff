#pragma once
// Code that maps a scalar operator over arrays, the floats to try it on, and the error of a result.

#include <string>
#include <vector>

#include <llvm/IR/Module.h>

#include "targets/llvm/math/math.hpp"

namespace dyn::testing {

/// A kernel of three operands: out[i] = op(a[i], b[i]), `width` at a time; a whole number of times.
void emit_map(llvm::Module& module, const std::string& symbol, rkernel::ExprOp op, DType from,
              DType to, int width, codegen::MathOptions options);

/// Zeros, infinities, NaN, subnormal numbers, and where functions change their ways; both signs.
const std::vector<float>& special_floats();

/// Specials, then floats at equal steps of their bits (all exponents, both signs), then random ones
/// in [-20, 20]; a multiple of 16.
std::vector<float> float_sample();

/// Distance in units in the last place of the exact value rounded to a float.
double ulps(double exact, float value);
/// The same in units in the last place of the float: half as many where it is a power of two and
/// the exact value is below it.
double rounded_ulps(double exact, float value);

}  // namespace dyn::testing
