# Dots of packed rows read the first slice of B for every slice of K.
# file: targets/cpu/contraction/emitter.cpp
# target: test_cpu
# test: dots of packed rows equal plain loops
s/a_stride_m_, element(b_rows, k_part_.start),/a_stride_m_, b_rows,/
