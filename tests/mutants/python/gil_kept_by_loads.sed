# A load keeps the GIL.
# file: src/python/bindings/load.cpp
# test: test_runs_and_loads_leave_the_gil
s/return GraphObject(without_gil(/return GraphObject([](PythonFailure*, const auto\& work) { return work(); }(/
