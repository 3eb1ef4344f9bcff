# All threads of a noted run write to the caller's track.
# file: src/runtime/profile/step_recorder.cpp
# target: test_runtime
# test: a stage of more chunks than are noted apart has them all in the last slice
s/note(noted.tracks\[thread\],/note(noted.tracks[0],/
