# All walks end when the first one does.
# file: targets/host/forest.cpp
# target: test_runtime
# test: random trees are walked*
s/if (at == before) break;/if (at[0] == before[0]) break;/
