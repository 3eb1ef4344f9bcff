# Spans of a trace start when they end.
# file: src/runtime/profile/chrome_trace.cpp
# target: test_runtime
# test: a trace has a process for each run*
s/{"ts", since_origin(start_ns)},/{"ts", since_origin(end_ns)},/
