# A load keeps the GIL.
# file: src/python/bindings/graph_object.cpp
# test: test_runs_and_loads_leave_the_gil
/^GraphObject loaded(/,/^}/s/const WithoutGil no_gil;//
