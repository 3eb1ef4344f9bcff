# K stays whole although threads have nothing to do.
# file: src/choice/cpu/select.cpp
# target: test_cpu
# test: a long sum of few outputs is cut for the threads that there are
s/if (blocks <= 0 || blocks >= threads) return slices;/if (blocks <= threads || blocks > threads) return slices;/
