# A file that is no model is not told apart: its bytes are read as protobuf, and the error says no more.
# file: src/import/onnx/reader/model_files.cpp
# target: test_import
# test: a broken file is refused*
s/if (!what.empty()) refuse_file/if (false) refuse_file/
