# Code that a paper's policy makes for a shape is made anew for each problem.
# file: targets/ptx/ptx_target.cpp
# target: test_ptx
# test: a paper's tiles have code when a plan takes them*
s/const LazyCode\*& known = later_by_key_\[source\.key\];/const LazyCode* known = nullptr;/
