# Slices of K are added last to first.
# file: targets/cpu/contraction/merge.cpp
# target: test_cpu
# test: the sums of slices are added in the order of the slices*
s/CreateMul(slices.index(), slice_size)/CreateMul(builder_.CreateSub(builder_.CreateSub(operands_.slot(slots_.strategy.slices), slices.index()), number(1)), slice_size)/
