# Where a condition chooses among operands, a choice within a choice is taken where only one of both conditions holds.
# file: targets/llvm/problem/expr_compiler.cpp
# target: test_codegen
# test: several parts*
s/condition == nullptr ? first : builder_.CreateAnd(condition, first)/condition == nullptr ? first : builder_.CreateOr(condition, first)/
