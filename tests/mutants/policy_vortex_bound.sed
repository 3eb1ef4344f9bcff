# Vortex's bound on groups of blocks is not one: the search ends before the best.
# file: src/choice/policies/vortex/vortex.cpp
# target: test_cpu
# test: vortex's bounds change no choice
s/multiply_adds \* group\.output_rate \* rounding > best\.seconds/multiply_adds * group.output_rate * 1.2 > best.seconds/
