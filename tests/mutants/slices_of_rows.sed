# Partial results of the slices of all rows share one place.
# file: targets/cpu/loop/partials.cpp
# target: test_codegen
# test: reductions around the sizes from which on they are cut in slices*
s/CreateMul(row(), context_\.operands\.slot(slots\.row_elements))/CreateMul(row(), context_.number(0))/
