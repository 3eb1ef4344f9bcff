# Windows that do not exist read what all lanes share.
# file: targets/cpu/loop/sliding_windows.cpp
# target: test_codegen
# test: windows slide over one factor*
s/block.end != nullptr && window > 0)$/false)/
