# The end of Python does not wait for runs in dyn's own threads.
# file: src/python/dyn/run_future.py
# test: test_a_program_ends_while_a_run_goes_on_beside_it
s/^atexit.register(_wait_for_runs)//
