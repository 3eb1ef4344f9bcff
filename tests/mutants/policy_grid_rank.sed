# MikPoly ranks its grid as if one thread had all tasks.
# file: src/choice/policies/mikpoly/grid.cpp
# target: test_cpu
# test: mikpoly keeps the kernels of the most mean throughput*
s/std::int64_t{machine\.threads}/std::int64_t{1}/
