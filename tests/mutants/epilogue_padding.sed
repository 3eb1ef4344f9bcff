# Rows of the epilogue in shared memory begin four banks after one another on tensor cores too.
# file: src/choice/gpu/gpu.cpp
# target: test_ptx
# test: the kernels of all tiles meet no bank twice*
s/block_n . mma_row_padding . side_by_side/block_n + row_padding/
