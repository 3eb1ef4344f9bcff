# DietCode's tree is grown from fixed sizes, whatever a tuner sampled.
# file: src/choice/policies/dietcode/voted_policy.cpp
# target: test_cpu
# test: dietcode's sampled shapes vote*
s/voting_(rules\.sampled\.empty() ?/voting_(true ?/
