# The same code on another number of threads counts as the same program.
# file: src/rkernel/target/same_program.hpp
# target: test_runtime
# test: candidates: the same code*
s/of\.threads, of\.grid\.function, /of.grid.function, /
