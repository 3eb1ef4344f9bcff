# An index that a run may not have becomes a slice.
# file: graph/passes/identities.cpp
# target: test_runtime
# test: a constant index*
/prove_less_equal(start + 1, dim) != true)/s/prove_less_equal(start + 1, dim) != true/false/
