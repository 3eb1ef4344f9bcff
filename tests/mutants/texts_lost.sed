# Texts that are moved become numbers.
# file: src/import/onnx/texts/text_node.cpp
# target: test_import
# test: texts in the file*
s/  moved->texts = list;/  moved->texts = nullptr;/
