# Samples beyond an image count as its edge.
# file: src/import/onnx/ops/image/region.cpp
# target: test_import
# test: imported regions are aligned*
s/less_equal(place.scalar(-1), place)/less_equal(place.scalar(-9), place)/
