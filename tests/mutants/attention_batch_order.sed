# The parts that keys are cut in depend on the batch, so that a row of a batch has other bits than that row alone.
# file: src/choice/cpu/attention_select.cpp
# target: test_cpu
# test: the order of attention's sums*
s|tickets_per_thread \* threads / row_tickets|tickets_per_thread * threads / (row_tickets * shape.batch)|
