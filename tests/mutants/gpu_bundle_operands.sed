# The second problem of a launch reads and writes the first one's operands.
# file: targets/ptx/loop/emitter.cpp
# target: test_kernels
# test: small independent kernels are one launch on a GPU*
s/first_operand += parts\[i\]\.problem\.problem\.operands\.size();//
