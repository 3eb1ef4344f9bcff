#pragma once
// Literals without a dtype: they take that of the operands beside them.

#include <cstddef>
#include <vector>

#include "dyn/dtype.hpp"
#include "graph/ir/module.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

/// Makes `literal`, whose dtype is i64, f32 or bool so far, one of `dtype`. Throws Error(model)
/// where that would change its meaning: a float to an integer, an integer out of range, a number to
/// a bool.
void convert_literal(const Module& module, Value& literal, DType dtype);

/// Whether input `index` of `op` may have another dtype than the others, so that a literal there
/// keeps its own.
bool keeps_own_dtype(const OpDef& op, std::size_t index);

/// Gives each of these literals the dtype of the operands beside it; throws as convert_literal
/// does. Results need no types yet.
void resolve_literals(Module& module, const std::vector<ValueId>& open_literals);

}  // namespace dyn::graph
