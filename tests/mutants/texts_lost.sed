# Texts that are moved become numbers.
# file: src/import/onnx/text_node.cpp
# target: test_import
# test: texts in the file*
s/  moved->texts = given->texts;/  moved->texts = nullptr;/
