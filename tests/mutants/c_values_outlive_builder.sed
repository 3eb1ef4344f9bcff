# Handles of values stay when their builder goes.
# file: src/c/building.cpp
# target: test_runtime
# test: C: a builder after its load*
s/  for (const dyn_value\* value : values_) release_handle.*//
