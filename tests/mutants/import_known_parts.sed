# All sizes of a list are open where data gives some of them.
# file: src/import/onnx/ops/indexed.cpp
# target: test_import
# test: imported: of sizes that are put together*
s/joined.parts.push_back(node.operand(i))/static_cast<void>(i)/
