#pragma once
// Loop problems as models have them. Each function writes operands, expressions and stores over the
// axes that the builder has.

#include "tests/support/problems/problem_builder.hpp"

namespace dyn::testing {

/// Axes: rows, columns (reduced). softmax(x * 0.5 + mask) over the columns.
void softmax(ProblemBuilder& b);
/// Axes: rows, columns (reduced). Normalises x + tanh(residual), which is stored too.
void layer_norm(ProblemBuilder& b);
/// Axes: two. Broadcasts, GELU, a selection, two orders of elements, booleans and positions.
void element_wise(ProblemBuilder& b);
/// Axes: columns, rows (reduced). Mean, maximum, and the difference from the mean.
void outer_mean(ProblemBuilder& b);
/// Axes: two, both reduced. Sum, maximum and minimum.
void totals(ProblemBuilder& b, DType dtype);
/// Axes: two. The middle of `axis` comes from memory, the rest is 2.5.
void pad(ProblemBuilder& b, int axis, DType dtype);
/// Axes: rows, columns. Gathers rows of a table of so many; returns the operand of the indices.
int embedding(ProblemBuilder& b, std::int64_t rows);
/// Axes: one. Gathers elements; returns the operand of the indices.
int lookup(ProblemBuilder& b, std::int64_t extent);

}  // namespace dyn::testing
