# Cubins of another architecture are taken for this one's.
# file: targets/ptx/cuda/modules.cpp
# target: test_ptx
# test: cuda cubins: one for each key*
s/context\.machine()\.compute_capability/80/
