# A run beside its caller does not keep the memory of its inputs.
# file: src/python/bindings/host/async_run.cpp
# test: test_runs_beside_the_caller
s/if (own.loan != nullptr) running->loans/if (false) running->loans/
