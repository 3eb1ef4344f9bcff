# Rows of the epilogue in shared memory begin four banks after one another on tensor cores too.
# file: src/choice/gpu/gpu.cpp
# target: test_ptx
# test: the kernels of all tiles meet no bank twice*
s/Engine::TensorCores . mma_row_padding : row_padding/Engine::TensorCores ? row_padding : row_padding/
