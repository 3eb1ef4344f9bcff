# Where dims of one name have one size, sizes of 1 change nothing.
# file: src/runtime/structures/variant_executable.hpp
# target: test_import
# test: a Squeeze without axes beside*
s/return variant ? variant : of_usual().variant_at(inputs);/return variant;/
