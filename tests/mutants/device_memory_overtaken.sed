# Who needs little device memory overtakes those that wait for more.
# file: src/runtime/device/budget.cpp
# target: test_runtime
# test: device memory: callers are served*
s/if (budget_->awaited() || /if (/
