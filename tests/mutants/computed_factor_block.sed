# Each block of K computes the elements of the first one.
# file: targets/cpu/contraction/copies.cpp
# target: test_kernels
# test: rows that no cache holds are computed block by block*
s/{ticket\.rows\.rows\.start, ticket\.rows\.rows\.size, block\.start, block\.size,/{ticket.rows.rows.start, ticket.rows.rows.size, code.number(0), block.size,/
