# A result takes the memory of the matmul's own left side.
# file: src/runtime/plan/in_place.cpp
# target: test_runtime
# test: *residual*
s/std::ranges::count(problem.operands, buffer, \&rkernel::Operand::buffer) == 1 \&\&//
