# Blocks of Vortex leave out multiples by 3 * 2^i.
# file: src/choice/policies/vortex/multiples.hpp
# target: test_cpu
# test: vortex's blocks are all multiples*
s|multiple / 2 \* 3$|multiple * 2|
