# Threads take tickets that fill the same lines.
# file: targets/cpu/loop/cost.cpp
# target: test_codegen
# test: threads take whole lines where lanes are stored apart
s|loop.axis_between >= 0 .. cost.threads > 1|false|
