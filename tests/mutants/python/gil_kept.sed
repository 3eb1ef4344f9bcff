# A run keeps the GIL.
# file: src/python/bindings/profile_object.cpp
# test: test_runs_and_loads_leave_the_gil
s/return without_gil(failure, \[&\] { call.run(options); });/return call.run(options);/
