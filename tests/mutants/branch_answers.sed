# The last condition on sizes has one answer alone.
# file: src/import/onnx/import.cpp
# target: test_import
# test: imported: where one answer alone fits what follows*
s/open.back().holds = true;/open.pop_back();/
