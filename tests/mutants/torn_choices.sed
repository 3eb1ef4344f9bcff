# A reader of a memory of choices does not look whether a writer came between.
# file: src/base/word_table.hpp
# target: test_cpu
# test: readers of a memory of choices that others write see whole choices
s/if (place\.version\.load(std::memory_order_relaxed) == before) return true;/return true;/
