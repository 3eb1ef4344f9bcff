# Elements of a resized axis lie at the left ends of their places, not in the middles.
# file: src/import/onnx/parts/interpolation.hpp
# target: test_import
# test: an image is resized by scales*
s|return (x + 0.5F) / axis.scale - 0.5F;|return (x + 0.5F) / axis.scale;|
