# A run that is ended goes on with the tickets of its stage.
# file: src/runtime/run/pieces.cpp
# target: test_runtime
# test: tickets that take long are pieces*
s/if (control_->ends(start))/if (false)/
