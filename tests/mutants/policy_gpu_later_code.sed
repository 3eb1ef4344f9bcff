# Code that a policy makes for a shape is made anew for each problem.
# file: targets/ptx/ptx_target.cpp
# target: test_ptx
# test: late tiles and a paper's have code*
s/const LazyCode\*& known = later_by_key_\[source\.key\];/const LazyCode* known = nullptr;/
