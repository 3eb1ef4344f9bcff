# Results that a scan collects backwards are collected forwards.
# file: src/import/onnx/loops.cpp
# target: test_import
# test: imported scans go over an axis in either direction
s/if (reversed) std::ranges::reverse(parts);/(void)reversed;/
