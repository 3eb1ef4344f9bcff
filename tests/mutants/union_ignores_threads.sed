# The same code on another number of threads counts as the same program.
# file: src/runtime/candidates.cpp
# target: test_runtime
# test: candidates: the same code*
s/launch.merge_grain, launch.threads, grid.function,/launch.merge_grain, grid.function,/
s/^  mix(static_cast<std::size_t>(launch.threads));//
