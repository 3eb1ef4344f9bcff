# The last of equal elements comes first.
# file: targets/host/order.cpp
# target: test_runtime
# test: topk takes the k best*
s/return first || (!second \&\& a < b);/return first || (!second \&\& a > b);/
