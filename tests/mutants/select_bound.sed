# The bound of the search counts whole rounds of blocks where a fixed number of slices makes up for a last one that is not full.
# file: src/choice/cost/cost.cpp
# target: test_cpu
# test: no strategy costs less than the bound*
s/blocks < threads || shape\.fixed_slices > 1;/blocks < threads;/
