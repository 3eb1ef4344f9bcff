# Macro-kernels are kept by what they take alone, not by what the pool gains.
# file: src/tune/pools/macro_kernel_search.cpp
# target: test_cli
# test: pools: later replays*
s/const double with = pool\.mean_with(all\[i\]);/const double with = mean_of(all[i]);/
