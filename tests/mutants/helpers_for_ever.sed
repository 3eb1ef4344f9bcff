# An executor's task that is never run takes a helper's place for ever, and one that is dropped, too.
# file: src/runtime/run/helpers.cpp
# target: test_runtime
# test: executors that never run*
s/    if (!begun) task.shared->traffic.leave();//
