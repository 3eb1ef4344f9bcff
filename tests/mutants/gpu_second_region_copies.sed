# The second region of a launch copies A as the first one does.
# file: targets/ptx/contraction/emitter.cpp
# target: test_ptx
# test: a region of tensor cores and one of CUDA cores*
s/own\.a = second\.a;/own.a = shape_class.a;/
