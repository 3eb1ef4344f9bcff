# Loops on a GPU cost the instructions that functions take on a CPU.
# file: targets/ptx/loop/kernel.cpp
# target: test_ptx
# test: a GPU's loops cost the instructions that its functions take
s/, device_math.approximations)/)/
