# What a loop gives is written over by its next run.
# file: src/runtime/run/call_ports.cpp
# target: test_runtime
# test: a loop?s result may go into its next run
s/if (!output.bound) output.tensor = Tensor();/(void)output;/
