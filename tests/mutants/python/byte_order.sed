# Elements of the other byte order are taken as they are.
# file: src/python/bindings/arrays/dtypes.cpp
# test: test_what_is_no_input
s/(item_bytes == 1 \&\& std::strchr("<>!|", \*format)/(std::strchr("<>!|", *format)/
