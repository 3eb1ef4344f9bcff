# Both codes of a byte lie in its lower bits in a file.
# file: src/cli/quantize/layers.cpp
# target: test_cli
# test: a quantised file gives*
s/(place % 2 \* 4)/(place % 2 * 0)/
