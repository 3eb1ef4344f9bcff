# A loop over a window's elements leaves out those outside of an image where there is no such loop.
# file: targets/cpu/loop/sliding_windows.cpp
# target: test_codegen
# test: windows slide over one factor*
s/ || .axis == written_out//
