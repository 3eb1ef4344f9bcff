# Sums change places in the tile in scratch.
# file: targets/cpu/contraction/full_tiles.cpp
# target: test_runtime
# test: a convolution with a long activation equals plain loops*
s/builder_.CreateAlignedStore(sums\[i\], place/builder_.CreateAlignedStore(sums[i ^ 1], place/
