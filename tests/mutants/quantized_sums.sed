# The sums of columns are those of other codes than the products have.
# file: src/runtime/weights/weight_source.cpp
# target: test_kernels
# test: precision i8: every instruction set? rows and images have scales of their own
s/middle_code \* static_cast<std::int32_t>(code_of(element, columns.scales\[n\]))/middle_code * static_cast<std::int32_t>(code_of(element, columns.scales[0]))/
