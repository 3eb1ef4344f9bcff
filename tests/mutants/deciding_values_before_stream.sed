# Values on a device that decide are read before the work of the caller's stream.
# file: src/runtime/run/call_ports.cpp
# target: test_runtime
# test: structures on a device: the values that decide*
s/if (stream_ == nullptr && own_stream_/if (own_stream_/
s/stream_ != nullptr ? \*stream_ : \*own_stream_/*own_stream_/
