# Of a remembered choice the first region alone is read.
# file: src/rkernel/choice_memory.cpp
# target: test_cpu
# test: a set holds choices of different numbers of regions*
s/std::min<std::size_t>(regions_in(words\[0\]), most_regions) \* words_of_region/words_of_region/
