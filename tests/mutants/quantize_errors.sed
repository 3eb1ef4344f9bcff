# Errors of outputs are counted for layers.
# file: src/cli/quantize/quantization.cpp
# target: test_cli
# test: errors are those of the values*
s/errors_\[i\].add(originals\[own + i\], outputs\[own + i\])/errors_[i].add(originals[own], outputs[own])/
