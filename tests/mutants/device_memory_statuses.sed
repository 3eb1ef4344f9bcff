# A run that lost its memory while it was left on a stream forgets what its kernels reported.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: device memory: statuses of a run*
s/if (!statuses_kept_ || tables_.address() == 0) return;/if (left_ == nullptr || tables_.address() == 0) return; left_->wait(); return;/
