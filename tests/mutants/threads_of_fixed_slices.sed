# Fixed slices of K never run on one thread where there is much to do.
# file: src/choice/cpu/select.cpp
# target: test_cpu
# test: what is chosen ties*
s/threads == 1 || shape.fixed_slices > 1 ||$/threads == 1 ||/
