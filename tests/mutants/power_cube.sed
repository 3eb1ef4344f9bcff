# A cube is a square.
# file: graph/passes/decompose.cpp
# target: test_import
# test: imported powers of a number that the file holds
s/map("mul", {map("mul", {x, x}), x}, output())/map("mul", {x, x}, output())/
