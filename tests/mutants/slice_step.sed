# Steps of a slice reach beyond 64 bits.
# file: src/import/onnx/ops/view.cpp
# target: test_import
# test: a slice of sizes by steps*
/step = std::clamp/d
