# Filters whose channels are filled up: their rows count as if nothing stood between them.
# file: src/runtime/weights/weight_source.cpp
# target: test_kernels
# test: integer products*
s/      stride \*= inner\[axis\];/      stride *= shape[axis];/
