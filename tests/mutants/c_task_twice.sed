# The handle of a task of C stays after the task has run.
# file: src/c/host.cpp
# target: test_runtime
# test: C: the host's threads run tasks*
/^dyn_status\* dyn_task_run/,/^}/s/    dyn::c::release_handle(TaskHandle::kind, task);//
