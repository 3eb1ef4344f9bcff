# A run on a stream that its owner captures loads a structure first.
# file: src/runtime/structures/undecided_execution.cpp
# target: test_runtime
# test: structures behind the driver*
s/if (stream_ != nullptr) stream_->begin();//
