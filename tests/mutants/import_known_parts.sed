# Of sizes of which data gives some, all are open.
# file: src/import/onnx/ops/indexed.cpp
# target: test_import
# test: imported: of sizes that are put together*
s/joined.parts.push_back(node.operand(i))/static_cast<void>(i)/
