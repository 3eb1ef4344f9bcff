# Sizes that differ only below 0, where no size is, count as different.
# file: graph/shapes/propagate_rules.cpp
# target: test_import
# test: a hundred valid convolutions*
s/return a == b || max(a, none) == max(b, none);/return a == b;/
