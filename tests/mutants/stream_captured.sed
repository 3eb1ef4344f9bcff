# A run goes to a stream that its owner captures.
# file: targets/ptx/cuda/stream.cpp
# target: test_runtime
# test: a caller*stream that was destroyed*
s/capture != CaptureStatus::None/false/
