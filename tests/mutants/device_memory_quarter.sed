# A run that grows under a limit of the device's memory takes a quarter more than it needs.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: device memory: a run that grows*
s/if (grows && !share_.is_limited())/if (grows)/
