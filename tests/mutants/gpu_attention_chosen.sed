# On a GPU the first tile for attention counts as the one that dyn takes.
# file: targets/ptx/attention/kernel.cpp
# target: test_ptx
# test: attention on a GPU: dyn considers each tile*
s|if (one\.index == chosen) choices\.chosen = choices\.candidates\.size();||
