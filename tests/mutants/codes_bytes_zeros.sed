# Of a group of codes the first element alone is less its zero point.
# file: targets/cpu/tile/codes.cpp
# target: test_kernels
# test: codes of a file are multiplied as they lie*
s/width < 32; width \*= 2/width < 0; width *= 2/
