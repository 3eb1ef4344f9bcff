# Blocks of narrow keys are taken to be as far apart as those of f32.
# file: targets/cpu/attention/ticket.cpp
# target: test_kernels
# test: attention over narrow keys*
s/element_of(builder, function.dtype_of(attention.k), bases.k,/element_of(builder, DType::f32, bases.k,/
