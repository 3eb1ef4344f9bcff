# FTuner bounds the registers of one block, not of zeta.
# file: src/choice/policies/gpu/ftuner_tiles.cpp
# target: test_ptx
# test: ftuner's tiles pass its filters*
s/return bound \* tile\.threads()/return tile.threads()/
