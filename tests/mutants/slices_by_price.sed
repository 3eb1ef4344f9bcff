# With determinism the slices of K follow what a machine measured.
# file: targets/cpu/contraction/forms.cpp
# target: test_runtime
# test: with determinism a long sum of few outputs is planned in slices on any threads
s/else if (context_->deterministic())/else if (false)/
