# The task of a run that is over keeps its model.
# file: src/runtime/run/async_run.cpp
# target: test_runtime
# test: an executor that only a run keeps*
s/  state_->model.reset();//
