# MikPoly ranks its grid as if one unit had all tasks.
# file: src/choice/policies/mikpoly/ranking.cpp
# target: test_cpu
# test: mikpoly keeps the kernels of the most mean throughput*
s/ceil_div(tasks, units)/ceil_div(tasks, std::int64_t{1})/
