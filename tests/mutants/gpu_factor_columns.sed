# A thread whose groups lie in several columns loads what varies along them once.
# file: targets/ptx/copies/computed_copy.cpp
# target: test_ptx
# test: factors that are computed as their tiles are loaded*
s/return !source\.of\.along_rows && (!source\.of\.along_columns || groups_\.has_fixed_columns());/return !source.of.along_rows;/
