# A launch of two tiles fills a multiprocessor as its first tile alone.
# file: src/choice/gpu/cost.cpp
# target: test_ptx
# test: what a launch of two tiles fills*
s/threads = std::max(threads, tile\.threads());/threads = threads == 0 ? tile.threads() : threads;/
