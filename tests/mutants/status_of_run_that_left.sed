# A run clears the status of the one before it, which nobody has asked for.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: a caller's stream: an index*
s/if (!statuses_kept_) stream_->clear/stream_->clear/
