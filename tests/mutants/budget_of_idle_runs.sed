# Runs that are over keep what others need.
# file: src/runtime/run/run_pool.cpp
# target: test_runtime
# test: runs that are over make room*
s/^  memory_->release_idle();$//
