# MikPoly's bound on what a region costs is not one: it leaves out kernels that are cheaper.
# file: src/choice/policies/mikpoly/mikpoly.cpp
# target: test_cpu
# test: mikpoly's bounds leave out nothing that is cheaper
s/(outputs \* rated\.rate \* rounding >= best\.cost)/(1.5 * outputs * rated.rate * rounding >= best.cost)/
