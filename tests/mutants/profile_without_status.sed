# A noted stage has no status, which runs that may end early look at.
# file: src/runtime/profile/step_recorder.cpp
# target: test_runtime
# test: a profiled run that may end early*
s/noted_\.status = stage\.args->status;/noted_.status = nullptr;/
