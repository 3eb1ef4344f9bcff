# Memory for a longer run is given up with what the run that left before it has reported.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: what a left run reports is told*
s/naming_groups(\[&\] { give_up(); });/drop();/
