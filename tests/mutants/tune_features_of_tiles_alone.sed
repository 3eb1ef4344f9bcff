# DietCode's model sees the register tile of a micro-kernel, and not the block.
# file: src/tune/pools/kernel_features.cpp
# target: test_cli
# test: pools: f_MK is learned*
s/return {std::begin(features), std::end(features)};/return {static_cast<float>(features[0]), static_cast<float>(features[1])};/
