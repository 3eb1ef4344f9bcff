# Both products of a gated layer read the first right side.
# file: targets/cpu/contraction/ticket.cpp
# target: test_kernels
# test: gated products in one kernel have the bits of products in memory
s/right_sides_\.push_back(load_base(args\.pointers, other))/right_sides_.push_back(b_base_)/
