# First states that lie apart, or are one number, have code of their own.
# file: targets/cpu/recurrence/kernel.cpp
# target: test_runtime
# ahead_of_time: kept
# test: an lstm needs no function of its own*
s/= StrideClass::Any;$/= class_along_lanes(problem, problem.operands[static_cast<std::size_t>(state)]);/
