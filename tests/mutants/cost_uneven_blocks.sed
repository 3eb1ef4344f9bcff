# Two threads share a block of whole panels and a narrower one as if both took as long.
# file: src/choice/cost/cost.cpp
# target: test_cpu
# test: blocks count as their mean where threads share them evenly*
s/std::max(sizes.seconds_per_k, sizes.whole_seconds_per_k/std::min(sizes.seconds_per_k, sizes.whole_seconds_per_k/
