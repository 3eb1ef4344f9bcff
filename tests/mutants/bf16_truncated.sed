# bf16 weights are cut off instead of rounded.
# file: src/rkernel/expr/narrow.cpp
# target: test_cpu
# test: panels of 16 bits hold what is nearest*
s/static_cast<std::uint16_t>(rounded(bits, 16))/static_cast<std::uint16_t>(bits >> 16)/
