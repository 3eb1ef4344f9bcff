# The rows of a reduction that are left beside groups of eight are added twice.
# file: targets/cpu/loop/reduced_chunks.cpp
# target: test_codegen
# test: sums over outer axes*
s/CountedLoop rest(builder_, whole, part.end, context_.number(1), "last_rows");/CountedLoop rest(builder_, part.begin, part.end, context_.number(1), "last_rows");/
