# The first fragments of the next stage are loaded from this one.
# file: targets/ptx/contraction/region.cpp
# target: test_ptx
# test: a matrix product on tensor cores*
s|first_fragments(next_cursor_,|first_fragments(step_cursor_,|
