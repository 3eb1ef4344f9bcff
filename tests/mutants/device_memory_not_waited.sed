# The memory of a run that was left on a stream is taken while the device works on it.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: under a limit runs left on streams*
s/if (left_ != nullptr) left_->wait();//
