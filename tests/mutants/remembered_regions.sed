# Only the first region of a remembered choice is read.
# file: src/choice/cpu/choice_memory.cpp
# target: test_cpu
# test: a set holds choices of different numbers of regions*
s/region < regions_in(words\[0\])/region < 1/
