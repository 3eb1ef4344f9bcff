# Dots are also computed in shorter blocks of rows, whose last columns of values are summed in another order under a causal mask.
# file: src/choice/cpu/attention_select.cpp
# target: test_cpu
# test: strategies of the same order*
/if (order.form == ScoreForm::Dots) break;/d
