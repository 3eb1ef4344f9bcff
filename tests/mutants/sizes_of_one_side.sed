# Sizes in JSON do not say how many right sides there are.
# file: src/choice/calibration/json.cpp
# target: test_cpu
# test: choices of a tuning file are checked*
s/visit("right_sides", shape\.right_sides);//
