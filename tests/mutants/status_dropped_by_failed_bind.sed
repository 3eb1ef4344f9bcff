# A run that fails before it begins drops what the run that left before it has reported.
# file: src/runtime/executables/planned_execution.cpp
# target: test_runtime
# test: what a left run reports is told*
s/in_flight_ = was_in_flight && last_run_->has_left();/if (was_in_flight) last_run_->abandon();/
