# A function's defaults go before what the call gives.
# file: src/import/onnx/functions.cpp
# target: test_import
# test: a function is its nodes*
/if (const AttributeProto\* given/d
s/^    if (std::ranges::find(function_.attribute(), name)/    if (const AttributeProto* given = find_attribute(call_.attribute(), name)) return given;\n&/
