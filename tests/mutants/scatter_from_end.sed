# Negative indices of updates do not count from the end.
# file: targets/host/scatter.cpp
# target: test_runtime
# test: scatter_elements and*
s/const std::int64_t place = index < 0 ? index + extent : index;/const std::int64_t place = index;/
