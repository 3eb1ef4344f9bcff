# The second region of a program on a GPU begins at the first row of the output, wherever it lies.
# file: targets/ptx/contraction/region.cpp
# target: test_ptx
# test: two regions of unequal tiles*
s|outputs\.m = first(grid_\.m_begin, |outputs.m = first(codegen::SlotTable::none, |
