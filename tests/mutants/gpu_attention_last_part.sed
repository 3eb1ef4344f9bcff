# The last part of the keys, a short one, is left out where blocks share rows.
# file: src/choice/gpu/attention.cpp
# target: test_ptx
# test: parts of keys have all tiles of keys*
s|parts.count = ceil_div(steps, parts.span)|parts.count = steps / parts.span|
