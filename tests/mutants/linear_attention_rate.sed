# What a state holds of a key already is not taken from the value.
# file: targets/host/linear_attention.cpp
# target: test_import
# test: imported linear attention*
s/seen_\[at(m)\] -= state\[d \* values_ + m\] \* key\[d\];/;/
