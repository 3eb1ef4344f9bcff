# Each part of a graph whose run decides sizes may hold as much as the whole.
# file: src/runtime/load/load.cpp
# target: test_runtime
# test: device memory: the parts of a graph*
s/request.text.clear();/request.text.clear(); request.device_budget = nullptr;/
