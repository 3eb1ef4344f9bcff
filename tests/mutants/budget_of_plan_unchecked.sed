# A run's plan is not held against the budget.
# file: src/runtime/run/plan_binding.cpp
# target: test_runtime
# test: a run beyond the budget*
s/  if (budget_ != nullptr)/  if (false)/
