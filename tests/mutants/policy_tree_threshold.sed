# The decision tree sends a value equal to a threshold to the wrong side.
# file: src/choice/policies/dietcode/decision_tree.cpp
# target: test_cpu
# test: a tree repeats all votes that do not contradict each other
s/\.feature\] <= nodes_\[node\]\.threshold/.feature] < nodes_[node].threshold/
