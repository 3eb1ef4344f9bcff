# Global padding copies operands in no time.
# file: src/choice/policies/dietcode/alternatives.cpp
# target: test_cpu
# test: global padding pays*
s/kernels\.copy_seconds(copied_bytes(shape, padded))/0/
