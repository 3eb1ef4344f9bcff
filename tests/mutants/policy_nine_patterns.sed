# The second of three strips of MikPoly ends as if it began at the top.
# file: src/choice/policies/mikpoly/mikpoly.cpp
# target: test_cpu
# test: every program of every policy has each output once*
s/cuts_of_all\.second_m = at\.m + cut/cuts_of_all.second_m = cut/
