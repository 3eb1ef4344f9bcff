# FTuner cuts columns within a panel.
# file: src/choice/policies/ftuner/ftuner.cpp
# target: test_cpu
# test: ftuner's borders between columns are at panels*
s/if (count \* first % border == 0) return count/return count/
