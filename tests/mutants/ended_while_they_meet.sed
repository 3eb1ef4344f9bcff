# Tickets that others wait for are left out where a run is ended.
# file: src/runtime/run/run_pool.cpp
# target: test_runtime
# test: a second stage* whose tickets may wait*
s/^  stage.pieces = nullptr;$//
