# An ignored target counts in the mean.
# file: src/import/onnx/ops/loss.cpp
# target: test_import
# test: an imported loss weighs*
s/cast(negated(\*ignored), log_probability.dtype())/std::optional<TensorExpr>()/
