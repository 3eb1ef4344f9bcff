# Each structure of an ONNX file opens a device.
# file: src/runtime/load/graph.cpp
# target: test_import
# test: structures of a file share the device*
s/return source.targets.make(options, threads, dump);/return runtime::make_target(options, threads, dump);/
