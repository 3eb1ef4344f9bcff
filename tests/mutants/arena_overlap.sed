# A buffer may be given away in the stage that still reads it.
# file: src/runtime/plan/arena_layout.cpp
# target: test_runtime
# test: buffers that live at the same time never overlap
s/lifetimes\[a\].first <= lifetimes\[b\].last/lifetimes[a].first < lifetimes[b].last/
