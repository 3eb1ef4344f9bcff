# Variants of a policy do not see the tiles that a tuner found for it.
# file: src/choice/policies/gpu/paper_spaces.cpp
# target: test_ptx
# test: tuned tiles: a policy and its variants*
s/tuned_\.find(space_policy(policy))/tuned_.find(policy)/
