# The last rows are all given to one.
# file: targets/host/forest.cpp
# target: test_runtime
# test: random trees are walked*
s/            results += results_;/            results += 0;/
