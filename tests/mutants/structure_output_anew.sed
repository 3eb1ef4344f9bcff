# A run of a structure allocates its outputs on the device anew each time.
# file: src/runtime/structures/delegated_run.cpp
# target: test_runtime
# test: structures on a device: an output that is allocated*
s/(made == nullptr || made != ports_.output(i).raw())/true/
