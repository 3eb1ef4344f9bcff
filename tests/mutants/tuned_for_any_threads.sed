# A tuned program is taken whatever number of threads it was tuned for.
# file: src/choice/cpu/tuned_choices.cpp
# target: test_cpu
# test: choices of a tuning file*
s/ChoiceKey(parsed\.shape, program\.threads)/ChoiceKey(parsed.shape, 1)/
