# A negative float of the file is rounded down where it becomes an integer.
# file: src/import/onnx/parts/folded.cpp
# target: test_import
# test: sizes that go through floats*
s/static_cast<std::int64_t>(each)/static_cast<std::int64_t>(std::floor(each))/
