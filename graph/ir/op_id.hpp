#pragma once
// Operators by number.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dyn::graph {

/// Scalar operators have the numbers of ScalarOp.
enum class OpId : std::uint8_t {
#define DYN_SCALAR_OP(name, ...) name,
#include "graph/ops/scalar_ops.def"
#define DYN_OP(name, text) name,
#include "graph/ops/operators.def"
};

inline constexpr std::size_t op_count = 0
#define DYN_SCALAR_OP(name, ...) +1
#include "graph/ops/scalar_ops.def"
#define DYN_OP(name, text) +1
#include "graph/ops/operators.def"
    ;

/// As the text IR writes it.
std::string_view name_of(OpId op);

}  // namespace dyn::graph
