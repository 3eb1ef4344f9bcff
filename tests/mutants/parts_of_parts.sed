# A constant beside a min or max stays outside.
# file: graph/dims/rules_sum.cpp
# target: test_graph
# test: sizes cut again and again*
s/if (order.rest.empty()) continue;/continue;/
