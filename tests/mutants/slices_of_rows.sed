# Partial results of the slices of all rows share one place.
# file: targets/cpu/loop/partials.cpp
# target: test_codegen
# test: reductions around the sizes from which on they are cut in slices*
s/CreateMul(row(), operands_->slot(loop_.sliced->row_elements))/CreateMul(row(), number(0))/
