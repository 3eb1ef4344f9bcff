# What has no slice of its own is lost.
# file: src/runtime/profile/step_recorder.cpp
# target: test_runtime
# test: a stage of more chunks than are noted apart has them all in the last slice
s/last.count += slice.count;//
