# A report may name events that it does not have.
# file: src/cli/page/run_data.cpp
# target: test_cli
# test: what is no report is refused with the reason
s/are_below(run\["slices"\], {{0, events}}, 7)/run["slices"].is_array()/
