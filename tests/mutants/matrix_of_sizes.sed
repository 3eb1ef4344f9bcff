# A transposed matrix of sizes keeps the order of its elements along the axes that it had.
# file: src/import/onnx/sizes/known_ints.cpp
# target: test_import
# test: sizes in matrices*
s/strides\[static_cast<std::size_t>(perm\[axis\])\]/strides[axis]/
