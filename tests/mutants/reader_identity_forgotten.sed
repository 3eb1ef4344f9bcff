# Prepacked weights of a reader are taken for those of any other identity.
# file: src/runtime/weights/weight_loader.cpp
# target: test_runtime
# test: with an identity prepacked weights are kept*
s/^\( *\)read->identity());/\1std::string());/
