#pragma once
// One of the program's operators.

#include <memory>

#include "dyn/operator.hpp"
#include "graph/ir/custom_op.hpp"

namespace dyn::runtime {

/// Throws Error(user) where it cannot be an operator; names it.
std::shared_ptr<const graph::CustomOp> make_given_operator(const Operator& from);

/// Throws Error(user) where a shape function gives a size that is negative whatever the inputs are.
void check_given_size(const Dim& dim);

}  // namespace dyn::runtime
