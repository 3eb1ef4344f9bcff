# The stride of an axis counts though nothing steps along it.
# file: src/python/bindings/arrays/strided.cpp
# test: test_axes_of_one_element
s/(shape\[i\] == 1 || strides\[i\] == expected)/(strides[i] == expected)/
