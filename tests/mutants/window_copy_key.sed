# Segments of all lengths are copied by the function of the first.
# file: targets/cpu/move/window_copy.cpp
# target: test_cpu
# test: windows of each form are copied by a function of their own
s/form.works ? " works" : "", form.segment),/form.works ? " works" : "", 0),/
