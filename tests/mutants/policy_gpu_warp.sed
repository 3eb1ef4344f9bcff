# A block of Vortex keeps its slowest warp.
# file: src/choice/policies/gpu/vortex_tiles.cpp
# target: test_ptx
# test: vortex's tiles are all multiples*
s/one\.seconds < known->seconds/one.seconds > known->seconds/
