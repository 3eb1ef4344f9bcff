# Where an allocation fails, the room that was reserved for it stays reserved.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: device memory: a run that got none*
s/share_.shrink_to(bytes());//
