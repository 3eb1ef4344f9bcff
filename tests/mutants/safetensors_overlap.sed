# Tensors of a weights file may overlap.
# file: src/runtime/weights/safetensors.cpp
# target: test_runtime
# test: bad offsets
s/^    check_overlaps(entries_);$//
