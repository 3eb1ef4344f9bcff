# Matrix tiles: the last steps of K, which fill no tile, are those at its beginning.
# file: targets/cpu/tile/matrix_loop.cpp
# target: test_cpu
# test: loops over matrix tiles*
s/add_step(first, count, whole_, last_of_a, last_of_b)/add_step(first, count, number(0), last_of_a, last_of_b)/
