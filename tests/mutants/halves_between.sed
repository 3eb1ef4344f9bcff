# Each operator of a 16-bit model rounds.
# file: src/import/onnx/import.cpp
# target: test_import
# test: imported 16-bit floats are rounded as outputs*
s/if (!options_.strict) round_no_steps(module, sources);/;/
