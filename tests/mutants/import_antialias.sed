# The taps of a smaller axis are not spread over more elements.
# file: src/import/onnx/parts/interpolate.cpp
# target: test_import
# test: an image is resized to given sizes*
s/minimum(axis.scale, 1.0F)/maximum(axis.scale, 1.0F)/
