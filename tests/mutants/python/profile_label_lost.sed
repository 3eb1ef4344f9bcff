# A trace does not have the labels of its runs.
# file: src/python/bindings/profile_object.cpp
# test: test_traces
/runs.back().label = own.label;/d
