# Max-min allocation gives the shortest tasks first.
# file: src/choice/policies/mikpoly/static_assignment.cpp
# target: test_cpu
# test: max-min gives the longest tasks first*
s/groups\[a\]\.seconds > groups\[b\]\.seconds/groups[a].seconds < groups[b].seconds/
