# In a program of two regions only the place of the first ticket counts, not the one that has most to do.
# file: src/choice/gpu/cost.cpp
# target: test_ptx
# test: two regions cost what the place with most to do takes*
s/{std::int64_t{0}, first_rest, last}/{std::int64_t{0}}/
