# Items of an n-gram stand side by side, whatever may be skipped.
# file: targets/host/counting.cpp
# target: test_import
# test: imported counts of n-grams*
s/other = x\[i \* distance\];/other = x[i];/
