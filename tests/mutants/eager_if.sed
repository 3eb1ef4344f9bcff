# Both sides of an if are run.
# file: src/runtime/executables/segmented_execution.cpp
# target: test_runtime
# test: only the side that an if takes is run
s/if (!is_needed(segment)) continue;/if (!segment.sides.empty() \&\& !is_needed(segment)) {}/
