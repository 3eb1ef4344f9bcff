# Pricing stops too soon: what it gives is no bound for what was enough.
# file: src/choice/cost/cost.cpp
# target: test_cpu
# test: a cost that is cut short is no less*
s/least \* (1 - rounding) >= enough/2 * least >= enough/
