# A run keeps the GIL.
# file: src/python/bindings/run.cpp
# test: test_runs_and_loads_leave_the_gil
s/without_gil(state_.failure.get(), \[&\] { call_.run(options); });/call_.run(options);/
