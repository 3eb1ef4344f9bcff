# Blocks that share a GPU's tiles always fill all places: no program gives each multiprocessor one block.
# file: src/choice/gpu/programs.cpp
# target: test_cli
# test: gpu predictions: the suites*
s/{wave, multiprocessors}/{wave, wave}/
