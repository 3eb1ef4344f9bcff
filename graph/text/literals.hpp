#pragma once
// A literal without a dtype takes that of the operands beside it.

#include <cstddef>
#include <vector>

#include "dyn/dtype.hpp"
#include "graph/ir/module.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

/// Converts `literal`, whose dtype is i64, f32 or bool so far, to `dtype`. Throws Error(model)
/// where that would change its meaning: a float to an integer, an integer out of range, a number to
/// a bool.
void convert_literal(const Module& module, Value& literal, DType dtype);

/// True where input `index` of `op` may have another dtype than the others, so that a literal there
/// keeps its own.
bool keeps_own_dtype(const OpDef& op, std::size_t index);

/// Gives each of these literals the dtype of the operands beside it; throws as convert_literal
/// does. Results need no types yet.
void resolve_literals(Module& module, const std::vector<ValueId>& open_literals);

}  // namespace dyn::graph
