#pragma once
// A literal without a dtype takes that of the operands beside it.

#include <cstddef>
#include <optional>
#include <span>
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

/// An input of an operator, as far as literals beside it take its dtype.
struct LiteralOperand {
  DType dtype = DType::f32;
  bool is_literal = false, is_open = false;  ///< open: a literal without a dtype
};
/// The dtype that open literals among the inputs take: that of a tensor beside them, else of a
/// literal with a dtype, else, where all literals are open, of a float.
std::optional<DType> dtype_of_literals(const OpDef& op, std::span<const LiteralOperand> inputs);

/// Gives each of these literals the dtype of the operands beside it; throws as convert_literal
/// does. Results need no types yet.
void resolve_literals(Module& module, const std::vector<ValueId>& open_literals);

}  // namespace dyn::graph
