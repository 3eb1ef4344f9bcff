# What a zero point adds to sums stays in them.
# file: src/import/onnx/parts/integers/byte_product.cpp
# target: test_import
# test: an imported quantised product is scaled and rounded once
s/zero \* std::int64_t{b.sums\[n\]}/0 * std::int64_t{b.sums[n]}/
