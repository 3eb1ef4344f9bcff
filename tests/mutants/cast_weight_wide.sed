# A weight of 16 bits that is cast for products is widened at each run.
# file: graph/passes/widen_halves.cpp
# target: test_runtime
# test: a weight of 16 bits that is cast for products alone*
s/if (node.op->id != OpId::Cast) continue;/continue;/
