# The program that is said to run is the first candidate.
# file: src/runtime/plan/candidates.cpp
# target: test_runtime
# test: kernels are the groups of a run*
s/return rkernel::same_program(candidate\.launch, launch);/return true || rkernel::same_program(candidate.launch, launch);/
