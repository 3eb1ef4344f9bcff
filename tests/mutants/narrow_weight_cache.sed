# Prepacked weights on disk are not told apart by their dtype.
# file: src/runtime/weights/weight_layout.cpp
# target: test_runtime
# test: prepacked weights of one precision are never taken for those of another
s/offset, name_of(view.dtype),$/offset, "f32",/
