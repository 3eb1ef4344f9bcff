# Sizes that a run decides are not compared with others.
# file: src/runtime/plan/binder.cpp
# target: test_runtime
# test: sizes that a run decides are compared*
s/if (is_known \&\& is_new)$/if (is_known \&\& is_new \&\& in_constraint.empty())/
