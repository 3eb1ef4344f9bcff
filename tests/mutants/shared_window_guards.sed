# Guards of what all lanes share are left to masks of lanes.
# file: targets/cpu/loop/sliding_windows.cpp
# target: test_codegen
# test: windows that all lanes share*
s/context_.compiler.varies_along_lanes(shared.expr)$/true/
