# Options of runs that were ended once end all later ones.
# file: src/python/dyn/session_options.py
# test: test_runs_that_are_terminated
s/elif name == "terminate" and self/elif name == "terminated" and self/
