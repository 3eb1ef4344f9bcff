# Blocks that cut K win ties against those that do not.
# file: src/choice/cpu/select.cpp
# target: test_cpu
# test: select takes what a plain search*
s/cuts_k(best_strategy) \&\& !cuts ? 1 : 1 - machine.fitted.tie/1 - machine.fitted.tie/
