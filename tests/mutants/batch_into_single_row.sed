# Batches whose right sides differ become rows of one product, where each has one row.
# file: src/rkernel/problem/axes.cpp
# target: test_graph
# test: a batch with right sides of its own is no part of m
s/if (problem.contraction \&\& last == problem.contraction->m \&\&/if (false \&\& problem.contraction \&\&/
