# The scales of values are not in the shares.
# file: targets/cpu/attention/rows.cpp
# target: test_kernels
# test: attention over narrow keys*
s/row.value_scales == nullptr$/true/
