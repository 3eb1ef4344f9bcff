# The same on the reference.
# file: targets/host/recurrence.cpp
# target: test_kernels
# test: recurrent layers of random options and sizes
s/const std::int64_t t = reverse_ ? length - 1 - i : i;/const std::int64_t t = reverse_ ? steps_ - 1 - i : i;/
