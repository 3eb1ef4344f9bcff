# Constants of uint32 are read from the field of smaller integers.
# file: src/import/onnx/reader/tensor.cpp
# target: test_import
# test: imported constants of every dtype*
s/ || std::is_same_v<T, std::uint32_t>//
