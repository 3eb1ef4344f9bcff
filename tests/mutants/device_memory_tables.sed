# The tables of runs do not count for the limit of the device's memory.
# file: src/runtime/device/run.hpp
# target: test_runtime
# test: device memory: a run that grows*
s/return arena + shared + tables;/return arena + shared;/
