# A causal mask takes the first query of a tile for the query of each of its rows.
# file: targets/ptx/attention/scores.cpp
# target: test_ptx
# test: attention on the emulator: several queries of heads that share keys*
s/index_.at(products_.row(builder_, row)).query,/index_.at(number(builder_, 0)).query,/
