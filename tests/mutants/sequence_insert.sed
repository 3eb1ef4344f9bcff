# A tensor goes behind the place where it is inserted.
# file: src/import/onnx/sequences.cpp
# target: test_import
# test: imported sequences are put together*
s/tensors.begin() + static_cast<std::ptrdiff_t>(place), node/tensors.begin() + static_cast<std::ptrdiff_t>(place < end ? place + 1 : place), node/
