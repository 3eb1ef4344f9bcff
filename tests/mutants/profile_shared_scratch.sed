# All threads of a noted run have the caller's scratch.
# file: src/runtime/profile/step_recorder.cpp
# target: test_runtime
# test: the scratch of a noted stage is the thread's own
s/noted.stage.scratch + thread \* noted.stage.scratch_stride/noted.stage.scratch/
