# A dim without an upper bound has one.
# file: src/python/bindings/info_objects.cpp
# test: test_dims
s/return self.high == unbounded ?/return false ?/
