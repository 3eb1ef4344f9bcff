# External data of an ONNX model is read through links that lead out of the model's folder.
# file: src/import/onnx/reader/model_files.cpp
# target: test_import
# test: links that lead out of the model's folder*
s/error || within.empty() || \*within.begin() == ".."/error/
