# Dims of one name that have another size than the first are taken to have one size.
# file: src/import/onnx/sizes/shared_names.cpp
# target: test_import
# test: which dims of a name*
s/const auto number = static_cast<int>(kind - kinds.begin());/const int number = kind != kinds.begin();/
