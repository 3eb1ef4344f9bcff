# Where a transposed operand is padded, the first lane behind it counts as one of its own.
# file: targets/cpu/loop/tiles.cpp
# target: test_kernels
# test: movement
s/: builder_\.CreateICmpSLT(lane, context_\.operands\.slot(high))/: builder_.CreateICmpSLE(lane, context_.operands.slot(high))/
