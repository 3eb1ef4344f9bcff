# A kernel of the program gets f32 copies of 16-bit floats.
# file: targets/host/call.cpp
# target: test_runtime
# test: halves reach a kernel as they are
s/of_host.op == graph::custom_op_id || //
