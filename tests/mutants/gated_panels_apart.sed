# Panels of a gated layer are packed one matrix behind the other.
# file: targets/cpu/move/pack.cpp
# target: test_kernels
# test: gated products in one kernel have the bits of products in memory
s/std::byte\* to = out + i \* layout\.panel_step();/std::byte* to = out + i * layout.panel_bytes();/
