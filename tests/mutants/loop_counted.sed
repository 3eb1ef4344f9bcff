# A loop that counts up to a size takes a step less.
# file: src/import/onnx/counted_loop.cpp
# target: test_import
# test: imported loops that count up to a size have a size of steps
s/counter->by - 1 - first/counter->by - 2 - first/
