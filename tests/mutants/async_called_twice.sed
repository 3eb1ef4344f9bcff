# A task that the host runs twice calls back twice.
# file: src/runtime/run/async_run.cpp
# target: test_runtime
# test: a callback is called once*
s/if (!std::exchange(is_wanted, false)) return;/if (!is_wanted) return;/
