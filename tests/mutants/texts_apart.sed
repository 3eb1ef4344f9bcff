# Inputs whose texts meet have lists of their own.
# file: src/import/onnx/texts/input_lists.cpp
# target: test_import
# test: columns of texts are joined*
s/for (const std::string& name : met) groups_.join(met.front(), name);//
