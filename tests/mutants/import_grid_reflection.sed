# A grid beyond the image is reflected at the first end only.
# file: src/import/onnx/ops/image/grid_sample.cpp
# target: test_import
# test: an image is sampled at*
s/return border.last - abs(from_first - floor(from_first \/ period) \* period - length);/return border.first + abs(from_first);/
