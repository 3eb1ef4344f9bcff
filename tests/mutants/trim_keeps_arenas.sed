# A trimmed graph keeps the memory of runs.
# file: src/runtime/executables/planned_executable.cpp
# target: test_runtime
# test: a trimmed graph is as small*
s/^  runs_->release_idle();$//
