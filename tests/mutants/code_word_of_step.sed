# Single steps of K all read the first word of their codes.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_kernels
# test: codes of a file are multiplied as they lie*
s/number(bytes_of_words(1))/number(code_ == nullptr ? bytes_of_words(1) : 0)/
