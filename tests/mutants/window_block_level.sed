# A copy of windows is priced as if its block stayed in L2, however large it is.
# file: src/choice/cost/copy_cost.cpp
# target: test_cpu
# test: a copy of windows reads each element once*
s/machine.level_of(static_cast<std::int64_t>(2 \* bytes))/std::size_t{1}/
