# Before opset 7 the second operand's last dim stands at the first's last, whatever the axis says.
# file: src/import/onnx/parts/before_opset7.cpp
# target: test_import
# test: before opset 7 an axis*
s/if (behind == 0) return/if (behind >= 0) return/
