# A reader of the memory of choices does not look whether a writer came between.
# file: src/rkernel/choice_memory.cpp
# target: test_cpu
# test: readers of a memory of choices that others write see whole choices
s/if (place\.version\.load(std::memory_order_relaxed) == before) return from_words(words);/return from_words(words);/
