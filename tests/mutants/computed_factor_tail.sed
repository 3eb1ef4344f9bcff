# The last steps of K of a computed factor are those of its first vector.
# file: targets/cpu/move/computed_factor.cpp
# target: test_kernels
# test: factors that are computed where they are moved have the bits of those in memory
s/emit_vector(whole, lanes_below(rest), place(whole));/emit_vector(number(0), lanes_below(rest), place(whole));/
