# The epilogue that reads a full tile from scratch goes on beyond the last column.
# file: targets/cpu/contraction/full_tiles.cpp
# target: test_runtime
# test: a convolution with a long activation equals plain loops*
# needs: avx512f
/epilogue_.emit({contraction.m/,/});/s/argument(columns_argument)/number(tile_.columns)/
