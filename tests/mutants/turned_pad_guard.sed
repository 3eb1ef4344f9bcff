# Where a transposed operand is padded, the first lane behind it counts as one of its own.
# file: targets/cpu/loop/tiles.cpp
# target: test_codegen
# test: transposed blocks of padded lanes
s/: builder_\.CreateICmpSLT(lane, context_\.operands\.slot(high))/: builder_.CreateICmpSLE(lane, context_.operands.slot(high))/
