# The tuner on a GPU takes a wave of one block on each multiprocessor for a full one.
# file: src/tune/pools/gpu_pool_machine.cpp
# target: test_cli
# test: gpu pools: predicted times*
s/kernels\.wave_seconds(0, depth)/kernels.task_seconds(0, depth)/
