# Full tiles store lanes beyond the last column.
# file: targets/cpu/contraction/full_tiles.cpp
# target: test_cpu
# test: contractions of many sizes and forms*
s/masks_ && vector </false \&\& vector </
