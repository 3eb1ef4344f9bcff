# The last element of the last sample decides how far a left side reaches.
# file: src/cli/quantize/quantization.cpp
# target: test_cli
# test: samples decide*
s/reach = std::max(reach, std::fabs(double{element}))/reach = std::fabs(double{element}) * 0.5/
