# MikPoly's bound on the rest of the rows is not one: it leaves out programs that are cheaper.
# file: src/choice/policies/mikpoly.cpp
# target: test_cpu
# test: mikpoly's bounds leave out nothing that is cheaper
s/(first_seconds + outputs \* second\.rate) \* rounding/(first_seconds + 1.5 * outputs * second.rate) * rounding/
