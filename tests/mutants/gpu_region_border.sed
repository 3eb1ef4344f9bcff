# The first region of a program on a GPU ends where the output does: rows of the second one are stored twice.
# file: targets/ptx/contraction/region.cpp
# target: test_ptx
# test: two regions of unequal tiles*
s|existing(end(grid_\.m_end, contraction_\.m), |existing(values_.extent(contraction_.m), |
