# A vector behind the end of a row that is kept counts as one of it.
# file: targets/ptx/loop/row_passes.cpp
# target: test_ptx
# test: rows around the longest that threads keep
s/return builder_.CreateICmpSLT(first_of_part(part)/return builder_.CreateICmpSLE(first_of_part(part)/
