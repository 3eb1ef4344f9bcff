# Elements of a group are packed in another order.
# file: targets/cpu/move/pack.cpp
# target: test_kernels
# test: integer products*
s/panel\[first + row \* width + column\]/panel[first + (size - 1 - row) * width + column]/
