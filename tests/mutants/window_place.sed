# Windows that share elements take dilation for 1.
# file: targets/cpu/loop/window_steps.hpp
# target: test_kernels
# test: windows
s/return window \* index + element \* of_element;/return window * index + of_element;/
