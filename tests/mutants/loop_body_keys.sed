# Weights of a body have the names of others.
# file: src/import/onnx/node_context.cpp
# target: test_import
# test: a weight that a loop and the graph around it read is one weight
s/if (known != graph->weight_of.end() \&\& !builder/if (false \&\& !builder/
