# Attention on a GPU is predicted to take no time.
# file: targets/ptx/attention/kernel.cpp
# target: test_cli
# test: gpu predictions: the models*
s/launch.predicted_seconds = chosen.keys.seconds/launch.predicted_seconds = 0/
