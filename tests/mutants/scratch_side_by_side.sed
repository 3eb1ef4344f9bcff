# Main loops ask for lines that another thread writes.
# file: src/runtime/plan/arena_layout.cpp
# target: test_runtime
# test: no main loop asks for lines of another thread's scratch
s/bytes + static_cast<std::size_t>(asked), arena_alignment/bytes, arena_alignment/
