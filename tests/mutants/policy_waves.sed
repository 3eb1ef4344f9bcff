# TSCompiler counts waves as if one block were all that a unit can hold.
# file: src/choice/policies/tscompiler/tscompiler.cpp
# target: test_cpu
# test: tscompiler counts whole waves*
s/kernels()\.blocks_per_wave(kernel)/kernels().units()/
