# The batch of a transposed factor stays behind its rows.
# file: src/import/onnx/ops/contrib/fused_product.cpp
# target: test_import
# test: FusedMatMul transposes matrices and batches*
s/perm.push_back(0);/perm.insert(perm.begin(), 0);/
